-- | How long a program takes that emits events on every capability: prints events a second. It knows nothing of where
-- they go.
module Main (main) where

import Control.Concurrent
import Control.Monad
import Debug.Trace
import GHC.Clock (getMonotonicTimeNSec)
import System.Environment

main :: IO ()
main = do
  [count] <- map read <$> getArgs
  capabilities <- getNumCapabilities
  begin <- getMonotonicTimeNSec
  workers <- forM [0 .. capabilities - 1] $ \capability -> do
    done <- newEmptyMVar
    _ <- forkOn capability $ do
      replicateM_ count (traceEventIO "an event of some words")
      putMVar done ()
    return done
  mapM_ takeMVar workers
  end <- getMonotonicTimeNSec
  let seconds = fromIntegral (end - begin) / 1e9 :: Double
  print (round (fromIntegral (count * capabilities) / seconds) :: Int)
