{-# LANGUAGE BangPatterns #-}
{-# LANGUAGE OverloadedStrings #-}
-- | elv: a strict checker of GHC event logs on top of the ghc-events library, which shares nothing with the decoder
-- of this project and so can contradict it.
--
--   elv check  FILE...   one JSON object a file; exit 1 if any file is bad
--   elv show   FILE      "time<TAB>cap<TAB>event", sorted by time
--   elv users  FILE      "cap<TAB>kind<TAB>text" of user messages and markers,
--                        in stream order
--
-- `check` does two things and compares them:
--   1. the ghc-events incremental decoder over the whole file, to its end;
--   2. a walk over the raw bytes with the sizes of the file's own header:
--      every event fits, every block ends exactly on an event boundary, the
--      log ends with 0xffff and nothing follows.
module Main (main) where

import Control.Exception (ErrorCall, evaluate, try)
import Control.Monad
import Data.Bits
import qualified Data.ByteString as B
import qualified Data.IntMap.Strict as IM
import Data.List (foldl', intercalate)
import Data.Maybe
import qualified Data.Text as T
import Data.Word
import GHC.RTS.Events
import GHC.RTS.Events.Incremental
import System.Environment
import System.Exit
import System.IO

data Raw = Raw
  { rEvents :: !Int, rBlocks :: !Int, rOutside :: !Int, rBackwards :: !Int
  , rCounts :: !(IM.IntMap Int), rCaps :: !(IM.IntMap Int)
  , rTmin :: !Word64, rTmax :: !Word64
  , rEnd :: !Bool, rTrailing :: !Int, rErr :: !(Maybe String) }

be :: Int -> B.ByteString -> Int -> Word64
be n b o = foldl' (\a i -> a `shiftL` 8 .|. fromIntegral (B.index b (o + i))) 0 [0 .. n - 1]

walk :: IM.IntMap (Maybe Int) -> B.ByteString -> Int -> Raw
walk sizes b start = go start Nothing 0 (Raw 0 0 0 0 IM.empty IM.empty maxBound 0 False 0 Nothing)
  where
    len = B.length b
    bad r o m = r { rErr = Just (m ++ " at byte " ++ show o) }
    go !o blk !prev !r
      | o == len = r { rErr = Just "no end-of-data marker (0xffff) before end of file" }
      | o + 2 > len = bad r o "truncated event type"
      | ty == 0xffff = case blk of
          -- GHC 9.2 and later count the marker into the last block (size 26),
          -- earlier ones write it outside any block.
          Just e | o < e, e /= o + 2 -> bad r o "end-of-data marker inside a block"
          _ -> r { rEnd = True, rTrailing = len - o - 2
                 , rErr = if len - o - 2 > 0 then Just "bytes after the end-of-data marker" else Nothing }
      | Nothing <- msz = bad r o ("undeclared event type " ++ show ty)
      | o + hdr > len = bad r o "truncated event header"
      | end > len = bad r o ("truncated payload of event type " ++ show ty)
      | Just e <- blk', end > e, ty /= 18 = bad r o "event crosses the end of its block"
      | ty == 18, isJust blk' = bad r o "block marker inside a block"
      | ty == 18, bend > len = bad r o "block longer than the file"
      | ty == 18, bsz < 24 = bad r o ("block size " ++ show bsz ++ " below 24")
      | otherwise = go end nblk nprev r'
      where
        ty = fromIntegral (be 2 b o) :: Int
        msz = IM.lookup ty sizes
        var = msz == Just Nothing
        hdr = if var then 12 else 10
        pay = case msz of
          Just (Just n) -> n
          _ -> fromIntegral (be 2 b (o + 10))
        end = o + hdr + pay
        t = be 8 b (o + 2)
        blk' = case blk of Just e | o < e -> Just e
                           _ -> Nothing
        bsz = fromIntegral (be 4 b (o + 10)) :: Int
        home = fromIntegral (be 2 b (o + 22)) :: Int
        bend = o + bsz
        nblk | ty == 18 = Just bend
             | otherwise = blk'
        nprev = t
        r' = r { rEvents = rEvents r + 1
               , rBlocks = rBlocks r + fromEnum (ty == 18)
               , rOutside = rOutside r + fromEnum (ty /= 18 && isNothing blk')
               , rBackwards = rBackwards r + fromEnum (ty /= 18 && isJust blk' && t < prev)
               , rCounts = IM.insertWith (+) ty 1 (rCounts r)
               , rCaps = if ty == 18 then IM.insertWith (+) home 1 (rCaps r) else rCaps r
               , rTmin = min t (rTmin r), rTmax = max t (rTmax r) }

-- | Run the incremental decoder over one strict chunk; count what it yields.
decodeAll :: B.ByteString -> (Maybe Header, Int, IM.IntMap Int, Maybe String)
decodeAll bytes = hd decodeHeader bytes
  where
    hd d b = case d of
      Consume k | B.null b -> (Nothing, 0, IM.empty, Just "header incomplete")
                | otherwise -> hd (k b) B.empty
      Produce h d' -> case d' of
        Done left -> let (n, m, e) = ev (decodeEvents h) left 0 IM.empty in (Just h, n, m, e)
        Error _ e -> (Just h, 0, IM.empty, Just e)
        _ -> (Just h, 0, IM.empty, Just "unexpected decoder state")
      Done _ -> (Nothing, 0, IM.empty, Just "no header")
      Error _ e -> (Nothing, 0, IM.empty, Just e)
    ev :: Decoder Event -> B.ByteString -> Int -> IM.IntMap Int -> (Int, IM.IntMap Int, Maybe String)
    ev d b !n !m = case d of
      Consume k | B.null b -> (n, m, Nothing)
                | otherwise -> ev (k b) B.empty n m
      -- ghc-events before 0.18 swallows block markers, later ones yield them
      Produce (Event _ EventBlock{} _) d' -> ev d' b n m
      Produce e d' -> ev d' b (n + 1) (IM.insertWith (+) (fromMaybe (-1) (evCap e)) 1 m)
      Done _ -> (n, m, Nothing)
      Error _ e -> (n, m, Just e)

-- | Length of header up to and including "datb".
headerLen :: B.ByteString -> Maybe Int
headerLen b = go 8
  where
    go o | o + 4 > B.length b = Nothing
         | be 4 b o == 0x65746200 =
             let dl = fromIntegral (be 4 b (o + 8)); el = fromIntegral (be 4 b (o + 12 + dl))
             in go (o + 12 + dl + 4 + el + 4)
         | be 4 b o == 0x68657465 = if o + 12 <= B.length b then Just (o + 12) else Nothing
         | otherwise = Nothing

jstr :: String -> String
jstr s = '"' : concatMap esc s ++ "\""
  where esc '"' = "\\\""; esc '\\' = "\\\\"; esc c | c < ' ' = "?" | otherwise = [c]

check :: FilePath -> IO Bool
check f = do
  b <- B.readFile f
  r <- try (evaluate (let (_, n, m, e) = decodeAll b in n `seq` m `seq` maybe () (\s -> length s `seq` ()) e `seq` (n, m, e)))
  let (mh, _, _, _) = decodeAll b
      (n, perCap, derr) = case r of
        Left ex -> (0, IM.empty, Just (takeWhile (/= '\n') (show (ex :: ErrorCall))))
        Right x -> x
      ets = maybe [] eventTypes mh
      sizes = IM.fromList [ (fromIntegral (num t), fmap fromIntegral (size t)) | t <- ets ]
      names = IM.fromList [ (fromIntegral (num t), T.unpack (desc t)) | t <- ets ]
      hl = headerLen b
      raw = fmap (walk sizes b) hl
      unmarked w = rEvents w - rBlocks w
      errs = [ "ghc-events: " ++ e | Just e <- [derr] ]
          ++ [ "structure: " ++ e | Just w <- [raw], Just e <- [rErr w] ]
          ++ [ "structure: bad header" | isNothing hl ]
          ++ [ "decoded " ++ show n ++ " events besides block markers, walked " ++ show (unmarked w)
               | Just w <- [raw], isNothing derr, n /= unmarked w ]
      kv k v = jstr k ++ ":" ++ v
      obj xs = "{" ++ intercalate "," xs ++ "}"
      w0 = fromMaybe (Raw 0 0 0 0 IM.empty IM.empty 0 0 False 0 Nothing) raw
  putStrLn $ obj
    [ kv "file" (jstr f), kv "ok" (if null errs then "true" else "false")
    , kv "errors" ("[" ++ intercalate "," (map jstr errs) ++ "]")
    , kv "bytes" (show (B.length b)), kv "header_bytes" (show (fromMaybe 0 hl))
    , kv "event_types" (show (length ets)), kv "events" (show (rEvents w0))
    , kv "blocks" (show (rBlocks w0)), kv "outside_block" (show (rOutside w0))
    , kv "backwards_in_block" (show (rBackwards w0))
    , kv "data_end" (if rEnd w0 then "true" else "false")
    , kv "t_min" (show (if rEvents w0 == 0 then 0 else rTmin w0)), kv "t_max" (show (rTmax w0))
    , kv "blocks_per_cap" (obj [ kv (show c) (show k) | (c, k) <- IM.toList (rCaps w0) ])
    , kv "decoded_per_cap" (obj [ kv (if c < 0 then "none" else show c) (show k) | (c, k) <- IM.toList perCap ])
    , kv "counts" (obj [ kv (show t) (show k) | (t, k) <- IM.toList (rCounts w0) ])
    , kv "names" (obj [ kv (IM.findWithDefault "?" t names) (show k) | (t, k) <- IM.toList (rCounts w0) ]) ]
  return (null errs)

load :: FilePath -> IO EventLog
load f = readEventLogFromFile f >>= either (\m -> hPutStrLn stderr m >> exitFailure) return

users :: FilePath -> IO ()
users f = do
  l <- load f
  forM_ (events (dat l)) $ \e -> case evSpec e of
    UserMessage m -> out e "msg" m
    UserMarker m -> out e "marker" m
    _ -> return ()
  where out e k m = putStrLn (maybe "-" show (evCap e) ++ "\t" ++ k ++ "\t" ++ T.unpack m)

main :: IO ()
main = do
  hSetEncoding stdout utf8
  as <- getArgs
  case as of
    ("check" : fs@(_ : _)) -> do
      oks <- mapM check fs
      unless (and oks) exitFailure
    ["users", f] -> users f
    ["show", f] -> do
      l <- load f
      forM_ (sortEvents (events (dat l))) $ \x ->
        putStrLn (show (evTime x) ++ "\t" ++ maybe "-" show (evCap x) ++ "\t" ++ show (evSpec x))
    _ -> hPutStrLn stderr "usage: elv check FILE... | elv show FILE | elv users FILE" >> exitFailure
