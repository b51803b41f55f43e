import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { openCliContext } from "../../../src/cli/command-line/cli-context.ts";
import { runProgram } from "../../../src/cli/command-line/dispatch.ts";
import { programVersion } from "../../../src/cli/command-line/version.ts";
import { createCoordinator } from "../../../src/cli/coordinator/coordinator.ts";
import {
  loadCoordinatorExtensions,
  loadGatewayExtensions,
  loadSignals,
  loadStoredRoutes,
} from "../../../src/cli/extensions.ts";
import { managerCommands } from "../../../src/cli/mgr.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { ServiceError } from "../../../src/system/errors.ts";
import { tellStorageFault } from "../../../src/system/storage-fault.ts";
import { createFakeIo } from "../../support/fake-io.ts";
import { createBuiltTree } from "./built-tree.ts";
import { filesBelow } from "./file-kinds.ts";
import { listOperations, type Operation, pickOperations, type Standing, secretToken } from "./operations.ts";
import { areaOf, listPlants, makePlant, type Plant, variantsOf } from "./plants.ts";
import { makeTemplate, treePaths } from "./template.ts";
import { createRng, type Rng, type Targets } from "./values.ts";
import {
  compareSnapshots,
  interceptSignals,
  judgeOutput,
  makePrecious,
  plantListener,
  readWitness,
  type Snapshot,
  takeSnapshot,
} from "./witnesses.ts";

/** What went wrong in one tree. */
export interface Finding {
  seed: number;
  plants: string[];
  operation: string;
  problem: string;
  /** A busy machine can be the cause: believed only when it happens again. */
  isSlow?: boolean;
}

/** A home with a repository in it, and everything that watches them. One tree at a time. */
export interface TreeFixture extends Disposable {
  /** How many trees it takes until every place met every hostile value. */
  wholeRound: number;
  /** Plants, runs and judges one tree. `onOperation` is called before each command, for a supervisor. */
  run(seed: number, onOperation: (what: string, plants: readonly string[]) => void): Promise<Finding[]>;
}

const standings: readonly Standing[] = ["cloned", "adopted", "adopted", "adopted", "adopted", "named"];
/** Longer than any of these commands takes. */
const longestMs = 8000;
/** How long somebody looks at a command that shows things until it is ended. */
const lookedAtMs = 200;
/** The peak of this process may grow by so much in one command. */
const memoryBytes = 300 * 2 ** 20;

/**
 * `folder`: an empty one, absolute. `bystanderPid`: a process that lives as long as the fixture does.
 * `program`: the folder of the programs that run the commands, in trees that have files for their runtime
 * too; without it the source runs in process.
 */
export async function createTreeFixture(
  folder: string,
  bystanderPid: number,
  program: string | null = null,
): Promise<TreeFixture> {
  const scratch = realpathSync(folder);
  const home = join(scratch, "home");
  const projects = join(home, "projects");
  const tree = join(projects, "clone");
  const stateHome = join(home, ".local", "state");
  const state = join(stateHome, "svc");
  const template = join(scratch, "template");
  const temporary = join(scratch, "tmp");
  const programs = join(scratch, "bin");
  const witness = join(scratch, "witness");
  const precious = [
    join(home, "precious-41d7"),
    join(projects, "precious-9c02"),
    join(scratch, "outside", "precious-77be"),
  ];
  for (const path of [tree, state, template, temporary, programs]) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }
  for (const path of precious) makePrecious(path);
  // No server runs, which is what a machine after a restart looks like; nothing can be started in one either.
  if (process.env["PATH"]?.split(":")[0] !== programs)
    throw new Error(`PATH does not begin with ${programs}`);
  writeFileSync(join(programs, "tmux"), tmuxWithoutServer, { mode: 0o755 });
  writeFileSync(join(programs, "claude"), '#!/bin/sh\necho "2.0.0"\n', { mode: 0o755 });

  const statusOf = (index: number) => () =>
    JSON.parse(
      readFileSync(sessionPaths(join(treePaths(join(template, "tree")).sessions[index] ?? "")).state, "utf8"),
    ) as object;
  const socket = join(temporary, "socket");
  const socketListener = createServer().listen(socket);
  await once(socketListener, "listening");
  const listeners = [0, 1, 2].map((index) => plantListener(statusOf(index)));
  const ports = listeners.map(({ port }) => port);
  const targets: Targets = {
    precious,
    program: treePaths(tree).program,
    ports,
    bystanderPid,
    socket,
  };
  await makeTemplate({ tree, state, witness, bystanderPid, ports });
  cpSync(tree, join(template, "tree"), { recursive: true });
  cpSync(state, join(template, "state"), { recursive: true });
  const plants = listPlants(tree);
  const order = planOrder(plants);
  const messageId = messageIdIn(treePaths(tree).mailbox);
  const signals = interceptSignals();
  const rejections: string[] = [];
  process.on("unhandledRejection", (error) => void rejections.push(String(error)));
  process.on("uncaughtException", (error) => void rejections.push(String(error)));

  const env = {
    ...process.env,
    HOME: home,
    NO_COLOR: "1",
    TMPDIR: temporary,
    TMUX_TMPDIR: temporary,
    XDG_STATE_HOME: stateHome,
    SVC_GATEWAY_TOKEN: secretToken,
    SVC_COORD_TOKEN: secretToken,
  };
  const changeable = [tree, state, template, temporary, witness];
  const built =
    program === null ? null : createBuiltTree({ programs: program, tree, env, bystanderPid, longestMs });
  let untouched: Snapshot = takeSnapshot(scratch, changeable);
  let peak = process.resourceUsage().maxRSS;

  function refresh(standing: Standing): void {
    for (const path of [tree, state]) rmSync(path, { recursive: true, force: true });
    cpSync(join(template, "tree"), tree, { recursive: true });
    if (standing === "adopted") cpSync(join(template, "state"), state, { recursive: true });
    else mkdirSync(state, { mode: 0o700 });
    rmSync(witness, { force: true });
    built?.plant();
  }

  async function perform(operation: Operation, look: { json: boolean; terminal: boolean }) {
    const words = operation.argv.map((word) => (word === "MESSAGE" ? messageId : word));
    if (built !== null) return await built.perform({ ...operation, argv: words }, look.json);
    if (operation.request) return { exitCode: 0, err: "", out: await ask(operation.request) };
    const io = createFakeIo({
      env: { ...env, ...operation.env },
      cwd: tree,
      home,
      stdoutIsTty: look.terminal,
      stderrIsTty: look.terminal,
    });
    io.stdinIsTty = false;
    if (operation.endless) io.unheard = () => AbortSignal.timeout(lookedAtMs);
    const json = look.json && !operation.endless ? ["--json"] : [];
    const exitCode = await runProgram(managerCommands, programVersion, [...words, ...json], io);
    return { exitCode, out: io.out, err: io.err };
  }

  async function ask({ path, body }: { path: string; body?: object }): Promise<string> {
    const io = { env, cwd: tree, home };
    let context: ReturnType<typeof openCliContext>;
    try {
      context = openCliContext(io);
    } catch (error) {
      // `svc-coord serve` ends with what is wrong and what to do.
      if (error instanceof ServiceError || tellStorageFault(error) !== null) return "{}";
      throw error;
    }
    const createExtensions = await loadGatewayExtensions();
    const coordinator = createCoordinator({
      context,
      io,
      host: "127.0.0.1",
      port: 0,
      token: null,
      onShutdown: () => {},
      createExtensions,
      extensions: await loadCoordinatorExtensions(),
      planSignals: await loadSignals(),
      storedRoutes: await loadStoredRoutes(),
    });
    try {
      const init =
        body === undefined
          ? {}
          : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
      const reply = await coordinator.app.fetch(
        new Request(`http://127.0.0.1${path}`, { ...init, signal: AbortSignal.timeout(longestMs) }),
      );
      const text = await reply.text();
      // Only our own faults: what a gateway or a file said is 502 and 503.
      return reply.status === 500 ? JSON.stringify({ error: "internal", status: 500, text }) : "{}";
    } finally {
      await coordinator.stop();
    }
  }

  async function judge(operation: Operation, rng: Rng): Promise<{ problems: string[]; slow: string[] }> {
    const look = { json: rng.chance(0.5), terminal: rng.chance(0.5) };
    // What runs as a process of its own writes to pipes.
    if (built !== null) look.terminal = false;
    const started = { atMs: performance.now(), delayMs: runDelayMs() };
    let problems: string[];
    try {
      const run = await perform(operation, look);
      problems = judgeOutput(run, {
        json: (look.json && !operation.endless) || operation.request !== undefined,
        terminal: look.terminal && operation.request === undefined,
        raw: operation.raw === true,
      });
    } catch (error) {
      problems = [`throws: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
    }
    const tookMs = performance.now() - started.atMs - (runDelayMs() - started.delayMs);
    const slow = tookMs > longestMs ? [`takes ${Math.round(tookMs)} ms`] : [];
    const now = process.resourceUsage().maxRSS;
    // Kilobytes on Linux, bytes elsewhere.
    const grown = (now - peak) * (process.platform === "linux" ? 1024 : 1);
    if (grown > memoryBytes) problems.push(`takes ${Math.round(grown / 2 ** 20)} MiB of memory`);
    peak = Math.max(peak, now);
    for (const listener of listeners) {
      problems.push(...listener.takeSecrets().map((text) => `a planted listener got ${text}`));
    }
    problems.push(...(built?.takeProblems() ?? []));
    problems.push(...signals.take().map((text) => `a signal was sent: ${text}`));
    problems.push(...rejections.splice(0).map((text) => `not caught: ${text}`));
    const ran = readWitness(witness);
    if (ran !== null && !operation.startsPrograms) problems.push(`a planted program ran: ${ran.trim()}`);
    rmSync(witness, { force: true });
    const after = takeSnapshot(scratch, changeable);
    const changes = compareSnapshots(untouched, after);
    untouched = after;
    if (changes.length > 0) {
      problems.push(`changed outside: ${changes.slice(0, maxChanges).join("; ")} (${changes.length} in all)`);
    }
    return { problems, slow };
  }

  return {
    wholeRound: Math.ceil(order.length / plantsPerTree),
    async run(seed, onOperation) {
      const rng = createRng(seed);
      const standing = rng.pick(standings);
      refresh(standing);
      if (standing === "adopted")
        await perform({ area: "any", argv: ["overlay", "adopt"] }, { json: false, terminal: false });
      const chosen = Array.from({ length: plantsPerTree }, (_, index) => {
        const [place = 0, variant = 0] = order[(seed * plantsPerTree + index) % order.length] ?? [];
        return { plant: plants[place] as Plant, variant };
      });
      // What replaces a whole file comes last.
      chosen.sort((left, right) => rank(left.plant) - rank(right.plant));
      const made: string[] = [standing];
      for (const { plant, variant } of chosen) made.push(makePlant(plant, variant, targets, rng));
      const areas = new Set(chosen.map(({ plant }) => areaOf(plant)));
      const operations = pickOperations(
        listOperations(treePaths(tree), standing),
        areas,
        { fitting: 3, any: 1 },
        rng,
      );
      const findings: Finding[] = [];
      for (const operation of operations) {
        const name = operation.request?.path ?? operation.argv.join(" ");
        onOperation(name, made);
        const { problems, slow } = await judge(operation, rng);
        const finding = { seed, plants: made, operation: name };
        findings.push(...problems.map((problem) => ({ ...finding, problem })));
        findings.push(...slow.map((problem) => ({ ...finding, problem, isSlow: true })));
      }
      return findings;
    },
    [Symbol.dispose]() {
      for (const listener of listeners) listener.stop();
      socketListener.close();
    },
  };
}

/**
 * How long this process was ready to run while others had the processors; 0 where the system does not say.
 */
function runDelayMs(): number {
  try {
    return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}

const plantsPerTree = 3;
const maxChanges = 5;
const rank = (plant: Plant) => (plant.what === "special" ? 1 : 0);

/** Every place with every variant, in an order that mixes places and does not depend on the seed. */
function planOrder(plants: readonly Plant[]): [place: number, variant: number][] {
  const all = plants.flatMap((plant, place) =>
    Array.from({ length: variantsOf(plant) }, (_, variant): [number, number] => [place, variant]),
  );
  const rng = createRng(1);
  for (let index = all.length - 1; index > 0; index--) {
    const other = rng.int(index + 1);
    const [here, there] = [all[index], all[other]];
    if (here && there) [all[index], all[other]] = [there, here];
  }
  return all;
}

function messageIdIn(mailbox: string): string {
  const found = filesBelow(join(mailbox, "messages"))[0] ?? "";
  return /(msg-[^/]*)\.md$/.exec(found)?.[1] ?? "";
}

const tmuxWithoutServer = `#!/bin/sh
if [ "$1" = "-V" ]; then echo "tmux 3.3a"; exit 0; fi
echo "no server running on planted" >&2
exit 1
`;
