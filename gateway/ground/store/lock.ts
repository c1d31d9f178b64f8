import Database from 'libsql';

/** SQLITE_BUSY (www.sqlite.org/rescode.html). */
const BUSY = 5;

/** A lock that ends with the process. */
export interface Lock {
  release(): void;
}

/**
 * Holds a lock on `file`, which is made for it, for as long as the process lives; the system gives it
 * back even after a kill. Undefined when another process holds it.
 * @throws what SQLite says where the file cannot be made or locked at all.
 */
export function takeLock(file: string): Lock | undefined {
  const lock = new Database(file);
  try {
    lock.exec('pragma locking_mode = exclusive');
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if (error instanceof Database.SqliteError && (Number(error.rawCode) & 0xff) === BUSY) {
      return undefined;
    }
    throw error;
  }
  return {
    release: () => {
      if (lock.open) lock.close();
    },
  };
}
