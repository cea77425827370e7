-- | Says little: a line when it begins, one for each line that it reads, and one at its end. Whoever looks on sees each of them soon,
-- as long as something has the run-time system hand over what it holds.
module Main (main) where

import Control.Monad (unless)
import Debug.Trace (traceEventIO)
import System.IO (isEOF)

main :: IO ()
main = do
    traceEventIO "it begins."
    go
    traceEventIO "it ends."
  where
    go = do
        ended <- isEOF
        unless ended $ do
            line <- getLine
            traceEventIO ("it has read " ++ line ++ ".")
            go
