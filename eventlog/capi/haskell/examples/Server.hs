-- | A program that runs for long, as a server does, and that can be looked at while it runs: server SOCKET SECONDS.
-- Connect to the socket with @eventlog tail SOCKET@, or record a while with @eventlog record SOCKET -o
-- now.eventlog@. (Without the call here, EVENTLOG_LISTEN=unix:SOCKET does the same.) It runs with @+RTS -l@.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import Debug.Trace
import GHC.Conc (labelThread)
import GHC.Eventlog.Live
import System.Environment
import System.Exit (die)

main :: IO ()
main = do
  arguments <- getArgs
  (socket, seconds) <- case arguments of
    [socket, seconds] -> pure (socket, seconds)
    _ -> die "usage: server SOCKET SECONDS"
  listenEventLog socket
  forM_ ["accepts", "answers", "tidies up"] $ \what -> forkIO $ do
    me <- myThreadId
    labelThread me what
    forM_ [1 :: Int ..] $ \request -> do
      traceEventIO (what ++ ": begins request " ++ show request)
      _ <- evaluate (sum [1 .. 20000 + request])
      traceEventIO (what ++ ": ends request " ++ show request)
      threadDelay 20000
  forM_ [1 .. 20 * read seconds :: Int] $ \_ -> do
    -- What has been emitted is to be seen at once, and not when a buffer is full.
    _ <- flushEventLog
    threadDelay 50000
