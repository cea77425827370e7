-- |
-- Module      : GHC.Eventlog.Live
-- License     : MIT OR Apache-2.0
--
-- The event log of the program that is running: where it goes, how large its buffers are, and what of it is in
-- memory. The functions are those that were once asked for in "Debug.Trace"; they work with an unchanged GHC, in a
-- program whose event log goes through @libghceventlog@ (see the README beside this package), and which runs with
-- @+RTS -l@.
--
-- Events are emitted as ever, by 'Debug.Trace.traceEventIO' and by the run-time system itself, and the threads that do
-- so never wait for a disk or for a reader.
--
-- A call that has not done what it was asked for throws an 'IOError' that says why: it names the value and the limit,
-- or what the system said.
--
-- == Cuts
--
-- A redirected log is cut: every event that was emitted before the call is in the old sink, every one that is emitted
-- after it is in the new one, and none is lost or in both. For that the run-time system is made to hand over what is in
-- its own buffers, which stops the program for about as long as a garbage collection takes to begin. Where that cannot
-- be done ('setEventLogCFile' then returns all the same; 'flushEventLog' tells), the cut is between what has been handed
-- over and what has not; still no event is lost or in both.
module GHC.Eventlog.Live
  ( -- * Where the log goes
    setEventLogCFile
  , getEventLogCFile
  , setEventLogHandle
  , setEventLogFile
    -- * Buffers
  , setEventLogBufferSize
  , getEventLogBufferSize
  , flushEventLog
    -- * Memory
  , getEventLogChunk
  , getEventLogHeader
    -- * Readers
  , listenEventLog
  , snapshotEventLog
  ) where

import Control.Concurrent (rtsSupportsBoundThreads, runInBoundThread)
import Control.Exception (bracketOnError)
import Control.Monad (unless, void, when)
import Data.Int (Int8)
import Data.Word (Word64, Word8)
import Foreign.C
import Foreign.Marshal.Alloc (alloca)
import Foreign.Marshal.Utils (with)
import Foreign.Ptr
import Foreign.Storable (peek)
import qualified GHC.IO.FD as FD
import GHC.IO.Handle.FD (handleToFd)
import System.IO (Handle, hFlush)

-- | Goes on in another file. The second argument says whether the previous file gets the end of its log and is closed;
-- else it stays as it is, and can be set again. The third says whether the new one begins with a header: then it is a
-- log of its own; without, it goes on where it was.
--
-- With 'nullPtr' the log is kept in memory, from where 'getEventLogChunk' takes it.
--
-- > file <- getEventLogCFile
-- > setEventLogCFile nullPtr False False     -- in memory from here on
-- > ...
-- > setEventLogCFile file False False        -- as before
--
-- Waits for both files. Before the run-time system has begun its log it says where that is to begin.
setEventLogCFile :: Ptr CFile -> Bool -> Bool -> IO ()
setEventLogCFile file closePrevious emitHeader =
  call "setEventLogCFile" $ evl_ghc_set_stream file previous start nullPtr
 where
  previous = if closePrevious then closeIt else keepIt
  start = if emitHeader then withHeader else withoutHeader

-- | The file that the log is written to; 'nullPtr' where it is none: in memory, at a socket. It is not to be used before
-- another one has been set.
getEventLogCFile :: IO (Ptr CFile)
getEventLogCFile = rts_getEventLogSink

-- | As 'setEventLogCFile', with a duplicate of a handle's file descriptor: the handle stays the program's.
setEventLogHandle :: Handle -> Bool -> Bool -> IO ()
setEventLogHandle handle closePrevious emitHeader = do
  hFlush handle
  fd <- handleToFd handle
  bracketOnError (open (FD.fdFD fd)) c_fclose $ \file ->
    setEventLogCFile file closePrevious emitHeader
 where
  open fd = do
    copy <- throwErrnoIfMinus1 "setEventLogHandle" (c_dup fd)
    throwErrnoIfNull "setEventLogHandle" (withCString "w" (c_fdopen copy))

-- | As 'setEventLogCFile', with a new file of that name, which replaces one that is there.
setEventLogFile :: FilePath -> Bool -> Bool -> IO ()
setEventLogFile path closePrevious emitHeader =
  bracketOnError open c_fclose $ \file -> setEventLogCFile file closePrevious emitHeader
 where
  open = throwErrnoPathIfNull "setEventLogFile" path $
    withCString path (withCString "we" . c_fopen)

-- | Changes the buffers while the program runs, in bytes: on GHC 9.0 each of the run-time system's own, and else the
-- library's. All or nothing. At least 65571: the longest event must fit.
setEventLogBufferSize :: Word -> IO ()
setEventLogBufferSize size =
  call "setEventLogBufferSize" $ evl_ghc_resize (fromIntegral size) nullPtr

-- | Bytes of each of the run-time system's buffers, where that is known; else of the library's. 0 where there is no log.
getEventLogBufferSize :: IO Word
getEventLogBufferSize = fromIntegral <$> rts_getEventLogBuffersSize

-- | Brings every event that was emitted before to where the log goes. In memory it is a chunk then. 'False' where only
-- what the run-time system had handed over could be brought.
flushEventLog :: IO Bool
flushEventLog = with 0 $ \whole -> do
  call "flushEventLog" (evl_ghc_flush whole)
  (/= 0) <$> peek whole

-- | The oldest chunk of a log in memory, which is a copy and belongs to the caller: it is to be freed by
-- 'Foreign.Marshal.Alloc.free' (or given to @unsafePackMallocCStringLen@). 'Nothing' where there is none now. A chunk
-- comes when one of the run-time system's buffers is full, and by 'flushEventLog'.
--
-- The header, any chunk, and the bytes @ff ff@ are a valid log; so are the header, all chunks in order, and @ff ff@.
getEventLogChunk :: IO (Maybe CStringLen)
getEventLogChunk = alloca $ \out -> do
  len <- rts_getEventLogChunk out
  chunk <- peek out
  return $ if len == 0 then Nothing else Just (castPtr chunk, fromIntegral len)

-- | What a log in memory begins with; a copy, to be freed as a chunk is. 'Nothing' where the log is not in memory.
getEventLogHeader :: IO (Maybe CStringLen)
getEventLogHeader = alloca $ \bytes -> alloca $ \len -> do
  code <- evl_ghc_chunk_header bytes len
  if code /= 0 then return Nothing else do
    header <- peek bytes
    size <- peek len
    return (Just (castPtr header, fromIntegral size))

-- | Serves the log at a Unix socket of that name, that only this user can connect to: whoever connects (with @eventlog
-- tail@, for example) gets a log from then on, until the program ends. The environment variable @EVENTLOG_LISTEN@ does the
-- same without a call.
listenEventLog :: FilePath -> IO ()
listenEventLog path = call "listenEventLog" (withCString path evl_ghc_listen)

-- | Writes what a flight recorder holds (@EVENTLOG_MODE=flight@), up to now, to a new file.
snapshotEventLog :: FilePath -> IO ()
snapshotEventLog path = do
  void flushEventLog
  call "snapshotEventLog" (withCString path evl_ghc_snapshot)

-- | Makes a call, and throws what it says of its failure. That is said to the system's thread that has made the call,
-- which must be the one that asks.
call :: String -> IO CInt -> IO ()
call name action = onOneThread $ do
  code <- action
  unless (code == 0) $ do
    text <- peekCString =<< evl_last_error
    when (code /= 0) $ ioError (userError (name ++ ": " ++ text))
 where
  onOneThread = if rtsSupportsBoundThreads then runInBoundThread else id

closeIt, keepIt, withHeader, withoutHeader :: CInt
closeIt = 0
keepIt = 1
withHeader = 0
withoutHeader = 1

-- All that may wait, or stop the program's threads, is `safe`.
foreign import ccall safe evl_ghc_set_stream :: Ptr CFile -> CInt -> CInt -> Ptr CInt -> IO CInt
foreign import ccall safe evl_ghc_flush :: Ptr CInt -> IO CInt
foreign import ccall safe evl_ghc_resize :: Word64 -> Ptr CInt -> IO CInt
foreign import ccall safe evl_ghc_listen :: CString -> IO CInt
foreign import ccall safe evl_ghc_snapshot :: CString -> IO CInt
foreign import ccall safe evl_ghc_chunk_header :: Ptr (Ptr Word8) -> Ptr CSize -> IO CInt
foreign import ccall safe rts_getEventLogSink :: IO (Ptr CFile)
foreign import ccall safe rts_getEventLogChunk :: Ptr (Ptr Int8) -> IO Word64
foreign import ccall safe rts_getEventLogBuffersSize :: IO Word64
foreign import ccall unsafe evl_last_error :: IO CString

foreign import ccall unsafe "dup" c_dup :: CInt -> IO CInt
foreign import ccall unsafe "fdopen" c_fdopen :: CInt -> CString -> IO (Ptr CFile)
foreign import ccall safe "fopen" c_fopen :: CString -> CString -> IO (Ptr CFile)
foreign import ccall safe "fclose" c_fclose :: Ptr CFile -> IO CInt
