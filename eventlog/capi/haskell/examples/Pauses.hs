-- | A program that profiles itself: it keeps its event log in memory while it works, and then prints how long its
-- garbage collections have taken. See the README beside the package for how it is compiled; it runs with @+RTS -l@.
module Main (main) where

import Control.Monad
import qualified Data.Map.Strict as Map
import Data.Word
import Foreign
import Foreign.C (CStringLen)
import GHC.Eventlog.Live
import Text.Printf

-- | What is to be watched.
work :: IO ()
work = forM_ [1 .. 30 :: Int] $ \n ->
  when (Map.foldl' (+) 0 (Map.fromList [(k, k * n) | k <- [1 .. 20000]]) < 0) (print n)

main :: IO ()
main = do
  file <- getEventLogCFile
  setEventLogCFile nullPtr False False
  work
  _ <- flushEventLog
  header <- getEventLogHeader >>= maybe (fail "the log is not in memory") bytesOf
  chunks <- takeAll
  setEventLogCFile file False False
  let gcs = pauses (concatMap (events (sizesOf header)) chunks)
      milliseconds ns = fromIntegral ns / 1e6 :: Double
  printf "%d garbage collections: %.3f ms in all, the longest %.3f ms\n"
    (length gcs) (milliseconds (sum gcs)) (milliseconds (maximum (0 : gcs)))

-- | All chunks that are there.
takeAll :: IO [[Word8]]
takeAll = getEventLogChunk >>= maybe (return []) (\chunk -> (:) <$> bytesOf chunk <*> takeAll)

-- | The bytes of a chunk, which is freed.
bytesOf :: CStringLen -> IO [Word8]
bytesOf (chunk, len) = peekArray len (castPtr chunk) <* free chunk

-- | From the start of a collection to its end, on each capability.
pauses :: [(Word16, Word16, Word64)] -> [Word64]
pauses = go Map.empty
 where
  go begun ((cap, 9, time) : rest) = go (Map.insert cap time begun) rest
  go begun ((cap, 10, time) : rest)
    | Just begin <- Map.lookup cap begun = time - min begin time : go (Map.delete cap begun) rest
  go begun (_ : rest) = go begun rest
  go _ [] = []

-- | The events of a chunk: capability, type, and time in nanoseconds. Each block begins with its capability.
events :: Map.Map Word16 Int -> [Word8] -> [(Word16, Word16, Word64)]
events sizes = go 0xffff
 where
  go cap bytes = case bytes of
    [] -> []
    _ | ident == 18 -> go (number (take 2 (drop 22 bytes))) (drop 24 bytes)
      | otherwise -> (cap, ident, number (take 8 (drop 2 bytes))) : go cap (drop len bytes)
   where
    ident = number (take 2 bytes)
    len = case Map.lookup ident sizes of
      Just 0xffff -> 12 + number (take 2 (drop 10 bytes))
      Just size -> 10 + size
      Nothing -> error ("an event of type " ++ show ident ++ ", which the header does not declare")

-- | What the header says of each type: bytes of its events' payload, or 0xffff where they differ.
sizesOf :: [Word8] -> Map.Map Word16 Int
sizesOf = go Map.empty . drop 8
 where
  go known bytes
    | take 4 bytes /= [0x65, 0x74, 0x62, 0] = known
    | otherwise =
        let described = number (take 4 (drop 8 bytes))
            extra = number (take 4 (drop (12 + described) bytes))
        in go (Map.insert (number (take 2 (drop 4 bytes))) (number (take 2 (drop 6 bytes))) known)
              (drop (20 + described + extra) bytes)

number :: Num a => [Word8] -> a
number = foldl (\sofar byte -> sofar * 256 + fromIntegral byte) 0
