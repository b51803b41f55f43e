import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "./pieces.tsx";

/** A screen whose code is loaded when it is first opened. Each has one, made once. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [ready, setReady] = useState(loaded !== null);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded !== null) return;
      void load().then(
        (component) => {
          loaded = component;
          setReady(true);
        },
        () => setFailed(true),
      );
    }, []);
    if (failed)
      return (
        <Failure detail="This part could not be loaded. The server may have a newer version: load the page again." />
      );
    const Component = loaded;
    return ready && Component !== null ? <Component {...props} /> : null;
  };
}
