import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * What lies over the page until it is closed. Escape closes it within its own event: the browser's event of
 * the close may come after the next key, which would press a button of a dialog that the reader has left. A
 * key that is held presses nothing.
 */
export function Modal(props: {
  kind: "action" | "palette" | "help";
  /** Its name, or the id of the element that has it. */
  label: { text: string } | { id: string };
  onClose: () => void;
  /** A click beside it closes it. */
  lightly?: boolean;
  children: ComponentChildren;
}) {
  const { kind, label, onClose, lightly = false } = props;
  const element = useRef<HTMLDialogElement>(null);
  // Before the next key: what is typed right after the shortcut belongs to the dialog.
  useLayoutEffect(() => {
    const shown = element.current;
    shown?.showModal();
    // Gives the focus back.
    return () => shown?.close();
  }, []);
  const takeKey = (event: KeyboardEvent) => {
    const held = event.repeat && event.key === "Enter";
    if (event.key === "Escape") onClose();
    if (held || event.key === "Escape") event.preventDefault();
  };
  return (
    <dialog
      ref={element}
      class={kind}
      aria-label={"text" in label ? label.text : undefined}
      aria-labelledby={"id" in label ? label.id : undefined}
      // Late, when the element has gone: the next one may be open by then.
      onClose={() => element.current && onClose()}
      onKeyDown={takeKey}
      onClick={(event) => lightly && event.target === element.current && onClose()}
    >
      {props.children}
    </dialog>
  );
}
