/**
 * The tables of the books. `key` is a hash of kind and address, so that the address itself needs no
 * index of its own; pages that say the same are found by hashes, too. Times are seconds since 1970.
 */
export const SCHEMA = `
PRAGMA journal_mode = WAL;
-- A commit that a power failure takes back costs a second look at its pages, nothing else.
PRAGMA synchronous = NORMAL;
PRAGMA busy_timeout = 5000;
PRAGMA cache_size = -32768;
CREATE TABLE IF NOT EXISTS hosts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- The day (since 1970, UTC) that 'fetches' counts, and the pause that failures have earned.
  day INTEGER NOT NULL DEFAULT 0,
  fetches INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  ready INTEGER NOT NULL DEFAULT 0,
  error TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS sources (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- Whether the file of sources names it now.
  named INTEGER NOT NULL DEFAULT 1
) STRICT;
-- Hosts that links led to, beyond those that a source names.
CREATE TABLE IF NOT EXISTS further_hosts (
  source INTEGER NOT NULL,
  host INTEGER NOT NULL,
  -- Where the source's own address leads by a redirect: www or not, http or https.
  own INTEGER NOT NULL,
  PRIMARY KEY (source, host)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS addresses (
  key INTEGER PRIMARY KEY,
  url TEXT NOT NULL,
  kind TEXT NOT NULL,
  source INTEGER NOT NULL,
  host INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  hops INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  outcome TEXT NOT NULL DEFAULT 'new',
  reason TEXT,
  -- The page's address in the index, where it is another one.
  page TEXT,
  page_key INTEGER,
  words INTEGER,
  title INTEGER,
  near_high INTEGER,
  near_low INTEGER,
  etag TEXT,
  modified TEXT,
  checked INTEGER NOT NULL DEFAULT 0,
  looks REAL NOT NULL DEFAULT 0,
  changes REAL NOT NULL DEFAULT 0,
  span REAL NOT NULL DEFAULT 0,
  -- Null: not by itself.
  due INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS addresses_due ON addresses (host, due) WHERE due IS NOT NULL;
CREATE INDEX IF NOT EXISTS addresses_page ON addresses (page_key) WHERE page_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS addresses_words ON addresses (words) WHERE words IS NOT NULL;
CREATE INDEX IF NOT EXISTS addresses_title ON addresses (title) WHERE title IS NOT NULL;
-- Files of folders, and how far they were read.
CREATE TABLE IF NOT EXISTS files (
  path TEXT PRIMARY KEY,
  source INTEGER NOT NULL,
  -- Size and time of change: another file under the same name is read again.
  stamp TEXT NOT NULL,
  position INTEGER NOT NULL,
  done INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- What of a folder was left out, and how often.
CREATE TABLE IF NOT EXISTS file_drops (
  source INTEGER NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  place TEXT NOT NULL,
  PRIMARY KEY (source, reason)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;
