import type { Compilable, CompiledQuery, Kysely, QueryResult } from 'kysely';

/** A value's place in a statement: what stands there while it is compiled. */
class Place {
  constructor(readonly name: string) {}
}

/** How the parameters of a compiled statement are found in the values of one execution. */
interface Template {
  readonly compiled: CompiledQuery;
  readonly names: readonly (string | undefined)[];
}

/**
 * A statement that is built and compiled once for each engine, and executed with other values each
 * time: building one costs several times what SQLite takes to execute it. `build` sees placeholders
 * for the values, so it must not look at them.
 */
export function statement<Tables, Given extends object, Row>(
  build: (db: Kysely<Tables>, values: Given) => Compilable<Row>,
): (db: Kysely<Tables>, values: Given) => Promise<Row[]> {
  /** By adapter, which all connections of one engine share. */
  const templates = new WeakMap<object, Template>();
  const places = new Proxy({}, { get: (_, name) => new Place(String(name)) }) as Given;

  const templateFor = (db: Kysely<Tables>): Template => {
    const { adapter } = db.getExecutor();
    const known = templates.get(adapter);
    if (known) return known;
    const compiled = build(db, places).compile();
    const names = compiled.parameters.map((one) => (one instanceof Place ? one.name : undefined));
    const template = { compiled, names };
    templates.set(adapter, template);
    return template;
  };

  return async (db, values) => {
    const { compiled, names } = templateFor(db);
    const parameters = compiled.parameters.map((constant, index) => {
      const name = names[index];
      return name === undefined ? constant : Reflect.get(values, name);
    });
    const { rows }: QueryResult<Row> = await db.executeQuery({ ...compiled, parameters });
    return rows;
  };
}
