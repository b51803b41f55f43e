export interface Route {
  method: string;
  /** With `:name` for a parameter. */
  path: string;
}

/** The routes, of whatever method, that serve the path of a URL; one slash at its end is no part of it. */
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

/** The path of a request's URL; a request that names no host has a path for a URL, and none here. */
export function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : "";
}
