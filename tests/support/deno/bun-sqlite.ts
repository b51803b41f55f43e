import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

/** `bun:sqlite` over the SQLite that Deno carries: as much of it as our stores use. */

type Values = SQLInputValue[];

class Statement {
  readonly #statement: StatementSync;

  constructor(statement: StatementSync) {
    this.#statement = statement;
  }

  run = (...values: Values) => this.#statement.run(...values);
  all = (...values: Values) => this.#statement.all(...values);
  get = (...values: Values) => this.#statement.get(...values) ?? null;
  values(...values: Values) {
    this.#statement.setReturnArrays(true);
    try {
      return this.#statement.all(...values);
    } finally {
      this.#statement.setReturnArrays(false);
    }
  }
}

export class Database {
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
  }

  run(sql: string, values: Values = []) {
    this.#as(() =>
      values.length > 0 ? this.#database.prepare(sql).run(...values) : this.#database.exec(sql),
    );
  }

  query = (sql: string) => this.prepare(sql);
  prepare = (sql: string) => new Statement(this.#database.prepare(sql));

  transaction<T>(change: () => T): { immediate: () => T } {
    return {
      immediate: () => {
        this.run("BEGIN IMMEDIATE");
        try {
          const result = change();
          this.run("COMMIT");
          return result;
        } catch (error) {
          this.run("ROLLBACK");
          throw error;
        }
      },
    };
  }

  close() {
    this.#database.close();
  }

  /** A database that another holds is told as Bun tells it. */
  #as<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      const busy = (error as { errcode?: number }).errcode === 5;
      throw busy ? Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" }) : error;
    }
  }
}
