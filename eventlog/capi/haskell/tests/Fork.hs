-- | Forks: fork. The child's log is not its parent's.
module Main (main) where

import Control.Monad
import Debug.Trace
import System.Exit
import System.Posix.Process

main :: IO ()
main = do
  traceEventIO "parent, before."
  child <- forkProcess $ do
    traceEventIO "child."
    exitSuccess
  status <- getProcessStatus True False child
  traceEventIO "parent, after."
  unless (status == Just (Exited ExitSuccess)) $ die (show status)
  print child
