export interface Route {
  method: string;
  /** With `:name` for a parameter. */
  path: string;
}

/** The routes, of whatever method, that serve the path of a URL. */
export function routesAt<R extends Route>(routes: readonly R[], path: string): R[] {
  const wanted = path.split("/");
  return routes.filter((route) => {
    const parts = route.path.split("/");
    return (
      parts.length === wanted.length &&
      parts.every((part, index) => part.startsWith(":") || part === wanted[index])
    );
  });
}
