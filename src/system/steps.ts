/**
 * Every change to the outside world (file write, SQL write, tmux write) names its step. A fault test
 * plugs in here: it learns which steps a run takes and can end the process before or after any of them.
 */
export interface Steps {
  /** Called immediately before the step takes effect. A throw prevents it. */
  before(label: string): void;
  /** Called once the step has its effect. */
  after(label: string): void;
}

/** Steps without an observer, as in production. */
export const quietSteps: Steps = { before() {}, after() {} };
