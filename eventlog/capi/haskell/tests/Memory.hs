-- | Keeps the log in memory for a while: memory DIRECTORY EVENTS. Each chunk is written to a file, between the header and
-- the end marker.
module Main (main) where

import Control.Monad
import Data.Word
import Debug.Trace
import Foreign
import GHC.Eventlog.Live
import System.Environment
import System.Exit
import System.IO

main :: IO ()
main = do
  [directory, count] <- getArgs
  traceEventIO "in the file."
  file <- getEventLogCFile
  when (file == nullPtr) $ die "no file"
  nothing <- getEventLogChunk
  unless (nothing == Nothing) $ die "a chunk of a log that is in a file"
  setEventLogCFile nullPtr False False
  memory <- getEventLogCFile
  unless (memory == nullPtr) $ die "a file of a log in memory"
  forM_ [1 .. read count :: Int] $ \number -> traceEventIO ("t0 #" ++ show number ++ ".")
  whole <- flushEventLog
  unless whole $ die "the flush was not whole"
  Just header <- getEventLogHeader
  let save :: Int -> IO Int
      save number = do
        popped <- getEventLogChunk
        case popped of
          Nothing -> return number
          Just (chunk, len) -> do
            withBinaryFile (directory ++ "/chunk-" ++ show number ++ ".eventlog") WriteMode $ \out -> do
              uncurry (hPutBuf out) header
              hPutBuf out chunk len
              withArray [0xff, 0xff :: Word8] $ \end -> hPutBuf out end 2
            free chunk
            save (number + 1)
  chunks <- save 0
  free (fst header)
  print chunks
  setEventLogCFile file False False
  traceEventIO "in the file again."
