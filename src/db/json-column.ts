/**
 * The value of a column that holds JSON. What is none counts as a damaged database: the error has SQLite's own code, so
 * that the same advice is given.
 */
// biome-ignore lint/suspicious/noExplicitAny: the columns have the types of their stores.
export function parseColumn(json: string): any {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw Object.assign(new Error("a column holds no JSON", { cause: error }), { code: "SQLITE_CORRUPT" });
  }
}
