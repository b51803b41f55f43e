/** One migration as it is embedded in the executable; `tag` orders and names it. */
export interface Migration {
  readonly tag: string;
  readonly sql: string;
}
