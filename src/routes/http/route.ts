export interface Route {
  method: string;
  /** With `:name` for a parameter. */
  path: string;
}

/** The routes of all methods that serve the path of a URL. A final slash is ignored. */
export function routesAt<R extends Route>(routes: readonly R[], path: string): R[] {
  const wanted = path.replace(/(?<=.)\/$/, "").split("/");
  return routes.filter((route) => {
    const parts = route.path.split("/");
    return (
      parts.length === wanted.length &&
      parts.every((part, index) => (part.startsWith(":") ? wanted[index] !== "" : part === wanted[index]))
    );
  });
}

/** The path of a request's URL; empty for a request without a host, whose URL is only a path. */
export function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : "";
}
