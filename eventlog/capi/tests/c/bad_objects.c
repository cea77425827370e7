/* Each object that is refused has its own code, and a text that says what was found, whether it is looked into or loaded. Any
 * code of these objects would kill the process. */
#include "check.h"

#include "eventlog_object.h"

/* What is refused by the file alone. */
static void refused(const char *name, int code, const char *text) {
    evl_object_file file;
    evl_loaded object;
    evl_cost_centres list;
    char *path = path_of(name);
    uint64_t len = 7;
    REFUSED(code, text, evl_objects_inspect(path, &file));
    REFUSED(code, path, evl_objects_inspect(path, &file));
    REFUSED(code, text, evl_objects_load(path, 0, &object));
    REFUSED(code, path, evl_objects_load(path, EVL_DIRECT, &object));
    OK(evl_objects_cost_centres(&list));
    OK(evl_cost_centres_len(list, &len));
    CHECK(len == 0);
    OK(evl_cost_centres_release(list));
    free(path);
}

/* What would be loaded by its file, and is refused later. */
static void refused_later(const char *name, int code, const char *text) {
    evl_object_file file;
    evl_loaded object;
    char *path = path_of(name);
    OK(evl_objects_inspect(path, &file));
    OK(evl_object_file_release(file));
    REFUSED(code, text, evl_objects_load(path, 0, &object));
    free(path);
}

static void built(void) {
    refused("none.so", EVL_ERR_OBJECT_NO_NOTE, "EVL_OBJECT");
    refused("no_table.so", EVL_ERR_OBJECT_NO_TABLE, "evl_object_v1");
    refused("major.so", EVL_ERR_OBJECT_ABI, "version 9.0, those of this host of version 1.0");
    refused("minor.so", EVL_ERR_OBJECT_ABI, "version 1.3");
    refused("way.so", EVL_ERR_OBJECT_WAY, "in way 0, this host in way 1");
    refused("layout.so", EVL_ERR_OBJECT_FINGERPRINT, "0000000000001234");
    refused("missing.so", EVL_ERR_OBJECT_SYMBOLS, "evl_way_prof_abi9");
    refused("ifunc.so", EVL_ERR_OBJECT_RESOLVERS, "ifunc");
    refused("shared_std.so", EVL_ERR_OBJECT_SHARED_STD, "libstd-0123456789abcdef.so");
    refused("no such file", EVL_ERR_IO, "No such file");
    refused("", EVL_ERR_IO, "directory");
    refused_later("undefined.so", EVL_ERR_OBJECT_LINKER, "nobody_has_this");
    refused_later("table.so", EVL_ERR_OBJECT_TABLE, "another version");
    refused_later("init.so", EVL_ERR_OBJECT_INIT, "77");
}

/* Where the content of the note begins. */
static size_t note_in(const uint8_t *bytes, size_t len) {
    const uint8_t head[12] = {24, 0, 0, 0, 0x31, 0x4c, 0x56, 0x45, 'E', 'V', 'L', 0};
    size_t at;
    for (at = 0; at + sizeof head < len; at++)
        if (memcmp(bytes + at, head, sizeof head) == 0) return at + sizeof head;
    CHECK(!"there is a note");
    return 0;
}

/* Bytes of a good object, one of them changed, and cut. */
static void changed(size_t at, uint8_t value, size_t keep, int code, const char *text) {
    size_t len;
    uint8_t *bytes = content_of("plain.so", &len);
    evl_object_file file;
    bytes[at] = value;
    REFUSED(code, text, evl_objects_inspect_bytes(bytes, keep < len ? keep : len, &file));
    free(bytes);
}

static void patched(void) {
    size_t len;
    uint8_t *bytes = content_of("plain.so", &len);
    size_t note = note_in(bytes, len);
    evl_object_file file;
    OK(evl_objects_inspect_bytes(bytes, len, &file));
    OK(evl_object_file_release(file));
    GIVES(EVL_ERR_OBJECT_NOT_ELF, evl_objects_inspect_bytes(NULL, 0, &file));
    GIVES(EVL_ERR_OBJECT_NOT_ELF, evl_objects_inspect_bytes((const uint8_t *)"INPUT(libc.so)\n", 15, &file));
    changed(0, 'x', len, EVL_ERR_OBJECT_NOT_ELF, "no ELF file");
    changed(18, 40, len, EVL_ERR_OBJECT_MACHINE, "machine 40");
    changed(4, 1, len, EVL_ERR_OBJECT_MACHINE, "class 1");
    changed(16, 1, len, EVL_ERR_OBJECT_NOT_SHARED, "its ELF type is 1");
    changed(0, 0x7f, 63, EVL_ERR_OBJECT_TRUNCATED, "has 63");
    changed(0, 0x7f, 4097, EVL_ERR_OBJECT_TRUNCATED, "has 4097");
    changed(54, 3, len, EVL_ERR_OBJECT_MALFORMED, "malformed");
    changed(note - 12, 20, len, EVL_ERR_OBJECT_BAD_NOTE, "20 bytes, where 24");
    changed(note + 8, 24, len, EVL_ERR_OBJECT_SIZE, "cost centre has 24 bytes");
    changed(note + 12, 24, len, EVL_ERR_OBJECT_SIZE, "object table has 24 bytes");
    free(bytes);
}

/* A symbol that the program says that it has. */
static void exported(void) {
    evl_object_file file;
    char *path = path_of("missing.so");
    REFUSED(EVL_ERR_ARGUMENT, "does not begin with evl_", evl_objects_export("strlen"));
    OK(evl_objects_export("evl_way_prof_abi9"));
    OK(evl_objects_export("evl_way_prof_abi9"));
    OK(evl_objects_inspect(path, &file));
    OK(evl_object_file_release(file));
    /* It was no truth, which the dynamic linker finds out before it runs anything. */
    refused_later("missing.so", EVL_ERR_OBJECT_LINKER, "evl_way_prof_abi9");
    free(path);
}

/* Each code has its own text. */
static void texts(void) {
    int one, other;
    for (one = EVL_ERR_OBJECT_NOT_ELF; one <= EVL_ERR_OBJECT_SYMBOL; one++) {
        CHECK(strcmp(evl_error_text(one), evl_error_text(12345)) != 0);
        for (other = 0; other < one; other++) CHECK(strcmp(evl_error_text(one), evl_error_text(other)) != 0);
    }
}

int main(int argc, char **argv) {
    arguments(argc, argv);
    built();
    patched();
    exported();
    texts();
    return 0;
}
