-- | Emits on every capability while the log is redirected and the buffers are resized: redirect DIRECTORY EVENTS TIMES.
-- Four threads emit so many events each; the log goes to 0.eventlog (see EVENTLOG_SINK), then to 1.eventlog and so on.
module Main (main) where

import Control.Concurrent
import Control.Monad
import Debug.Trace
import GHC.Conc (labelThread)
import GHC.Eventlog.Live
import System.Environment
import System.Exit
import System.IO.Error
import System.Mem (performGC)

main :: IO ()
main = do
  [directory, count, times] <- getArgs
  let threads = 4 :: Int
  dones <- forM [0 .. threads - 1] $ \thread -> do
    done <- newEmptyMVar
    _ <- forkOn thread $ do
      me <- myThreadId
      labelThread me ("worker " ++ show thread)
      forM_ [1 .. read count :: Int] $ \number -> do
        traceEventIO ("t" ++ show thread ++ " #" ++ show number ++ ".")
        when (number `mod` 4096 == 0) yield
      putMVar done ()
    return done
  forM_ [1 .. read times :: Int] $ \time -> do
    let size = if even time then 70000 else 3 * 1024 * 1024 + 17
    before <- getEventLogBufferSize
    setEventLogBufferSize size
    after <- getEventLogBufferSize
    unless (after == size && before /= 0) $ die ("a buffer of " ++ show after ++ " bytes instead of " ++ show size)
    traceEventIO ("before " ++ show time ++ ".")
    setEventLogFile (directory ++ "/" ++ show time ++ ".eventlog") True True
    traceEventIO ("after " ++ show time ++ ".")
    when (time `mod` 7 == 0) performGC
    threadDelay 10000
  mapM_ takeMVar dones
  refused <- tryIOError (setEventLogBufferSize 1024)
  case refused of
    Left problem | "1024" `isIn` ioeGetErrorString problem, "65571" `isIn` ioeGetErrorString problem -> return ()
    other -> die ("a buffer of 1024 bytes: " ++ show other)
  whole <- flushEventLog
  unless whole $ die "the flush was not whole"
 where
  isIn part text = any ((== part) . take (length part)) (scanr (:) [] text)
