import { clockTime, parseTime } from "../browser/browser.ts";
import { words } from "./format.ts";

/** What keeps a prompt back, in words. Pure. */

const reasons: Record<string, string> = {
  "stability.stable=false": "Its screen has not been still for long enough.",
  "turn.phase=active": "A turn runs.",
  "turn.phase=unknown": "Its screen does not say whether a turn runs.",
  "accepting_input=no": "It accepts no input now.",
  "ready_posture=no": "It does not show its prompt.",
  "ready_posture=unknown": "Its screen does not say whether it is ready.",
  "business_state=awaiting_operator": "It asks a person.",
  "business_state=working": "It works.",
  "input_mode=modal": "A menu is open.",
  "editing_input=yes": "Somebody types into it.",
  "editing_input=unknown": "Its screen does not say whether somebody types into it.",
  "accepting_input=unknown": "Its screen does not say whether it accepts input.",
};

/** Null for a fact without words here. */
export const wordsOfFact = (fact: string): string | null => reasons[fact] ?? null;

/** A fact without words here is shown by its name. */
export const factInWords = (fact: string): string => {
  const known = wordsOfFact(fact);
  if (known !== null) return known;
  const [name = "", value = ""] = fact.split("=");
  return `${words(name.replaceAll(".", " "))} is ${value}`;
};

const factList = /^(?:not_ready: )?([a-z_.]+=[^\s,=]+(?:, [a-z_.]+=[^\s,=]+)*)$/;

/** A detail of the server that lists such facts; any other is as it was, its moments in local time. */
export function factsInWords(detail: string): string {
  const facts = factList.exec(detail)?.[1];
  return facts === undefined ? localTimes(detail) : facts.split(", ").map(factInWords).join(" ");
}

const timestamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g;

/** Moments in the reader's time zone. */
const localTimes = (detail: string): string =>
  detail.replace(timestamp, (moment) => clockTime(parseTime(moment) ?? 0));
