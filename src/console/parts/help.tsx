import { atGateway } from "../browser/surface.ts";
import { helpOpen } from "../client/ui.ts";
import { Modal } from "./modal.tsx";
import { Key } from "./pieces.tsx";

const keys: readonly (readonly [keys: string, what: string])[] = [
  ["j k", "next and previous item or tile"],
  ["1 … 9", "mark an answer"],
  ["Enter", "send the marked answer; open the tile"],
  ["a", "answer identical questions too"],
  [".", "show what is new"],
  ["g n", "Needs you"],
  ["Ctrl K", "find agents and actions"],
  ["Ctrl Enter", "send a prompt or mail"],
  ...(atGateway
    ? ([["g a", "the agent"]] as const)
    : ([
        ["s", "sort the wall again"],
        ["/", "filter the wall"],
        ["g w", "Wall"],
        ["g m", "Mail"],
        ["g t", "Timeline"],
        ["Esc", "from an agent back to the wall"],
      ] as const)),
];

export function Help() {
  if (!helpOpen.value) return null;
  const close = () => {
    helpOpen.value = false;
  };
  return (
    <Modal kind="help" label={{ id: "help-title" }} onClose={close}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {keys.map(([combination, what]) => (
          <div key={combination}>
            <dt>
              <Key>{combination}</Key>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button type="button" class="primary" autofocus onClick={close}>
          Close
        </button>
      </div>
    </Modal>
  );
}
