import type { Answer } from "./command.ts";
import { renderTable } from "./format.ts";

interface PlaceResult {
  home_path: string;
  skills: readonly ({ name: string; outcome: "kept"; why: string } | { name: string; outcome: string })[];
}

/** What became of each skill in each home. Exit code 1 where a person's edits were kept. */
export function skillsAnswer(results: readonly PlaceResult[]): Answer {
  const kept = results.some((result) => result.skills.some(({ outcome }) => outcome === "kept"));
  return {
    json: results.length === 1 ? results[0] : { results },
    text: results
      .map(({ home_path, skills }) =>
        renderTable(
          ["SKILL", `IN ${home_path}`],
          skills.map((one) => [one.name, "why" in one ? `kept: ${one.why}` : one.outcome]),
        ),
      )
      .join("\n\n"),
    exitCode: kept ? 1 : 0,
  };
}
