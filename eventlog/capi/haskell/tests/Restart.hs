{-# LANGUAGE ForeignFunctionInterface #-}
-- | Stops the run-time system's log, and starts it again: restart. Both parts are in one log.
module Main (main) where

import Control.Monad
import Debug.Trace
import Foreign.C
import Foreign.Ptr
import GHC.Eventlog.Live
import System.Exit

foreign import ccall "&evl_ghc_writer" writer :: Ptr ()
foreign import ccall safe startEventLogging :: Ptr () -> IO CBool
foreign import ccall safe endEventLogging :: IO ()

main :: IO ()
main = do
  traceEventIO "before the stop."
  endEventLogging
  traceEventIO "while it is stopped."
  whole <- flushEventLog
  unless whole $ die "everything has been handed over"
  started <- startEventLogging writer
  when (started == 0) $ die "it does not start again"
  traceEventIO "after the start."
