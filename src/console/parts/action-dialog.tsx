import { confirmAction, dialog } from "../client/ui.ts";
import { Modal } from "./modal.tsx";

/** Says what an action will do, does it, and shows what proves that it happened. */
export function ActionDialog() {
  const open = dialog.value;
  if (open === null) return null;
  const { action } = open;
  const close = () => {
    dialog.value = null;
  };
  return (
    <Modal kind="action" label={{ id: "action-title" }} onClose={close}>
      <h2 id="action-title">{open.stage === "over" ? open.outcome.title : action.title}</h2>
      {open.stage === "over" ? (
        <div role="status">
          <ul class={open.outcome.done ? "evidence done" : "evidence failed"}>
            {open.outcome.evidence.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
          {open.outcome.next === "" ? null : <p class="next">{open.outcome.next}</p>}
        </div>
      ) : (
        <ul class="will">
          {action.will.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      <div class="buttons">
        {open.stage === "over" ? (
          <button type="button" class="primary" autofocus onClick={close}>
            Close
          </button>
        ) : (
          <>
            <button type="button" onClick={close} disabled={open.stage === "running"}>
              Cancel
            </button>
            <button
              type="button"
              class={action.danger ? "primary danger" : "primary"}
              disabled={open.stage === "running"}
              autofocus
              onClick={() => void confirmAction()}
            >
              {open.stage === "running" ? "Working…" : action.button}
            </button>
          </>
        )}
      </div>
    </Modal>
  );
}
