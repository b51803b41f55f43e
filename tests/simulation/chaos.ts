import type { Dice } from "./dice.ts";
import type { MailOracle } from "./mail-oracle.ts";
import type { SimCoordinator } from "./sim-coordinator.ts";
import type { SimHost } from "./sim-host.ts";
import type { SimWorld } from "./sim-world.ts";

/** What goes wrong with the machine, its agents and their gateways, and who puts it right again. */
export interface Chaos {
  begin(wanted: () => boolean): void;
  /** From here on nothing goes wrong, and what was broken is mended. */
  heal(): void;
}

export function createChaos({
  world,
  hosts,
  mail,
  coordinator,
  dice,
}: {
  world: SimWorld;
  hosts: readonly SimHost[];
  mail: MailOracle;
  coordinator: SimCoordinator;
  dice: Dice;
}): Chaos {
  const { clock, weather } = world;
  let wanted = () => true;
  let healing = false;
  /** Gateways whose notifier is known to be on. */
  const woken = new Set<number>();
  const minutes = (count: number) => count * 60_000;

  function now(act: () => void, meanMs: number): void {
    clock.after(dice.wait(meanMs), () => {
      if (healing) return;
      if (wanted()) act();
      now(act, meanMs);
    });
  }

  function spell(what: "diskFull" | "slowDisk", maxMs: number): void {
    if (weather[what]) return;
    world.trace.note("machine", `${what} begins`);
    world.count(what);
    weather[what] = true;
    clock.after(dice.skewed(500, maxMs), () => {
      world.trace.note("machine", `${what} is over`);
      weather[what] = false;
      weather.sinceMs = clock.nowMs();
    });
  }

  /** A supervisor: a gateway that is not there is started again. */
  function supervise(host: SimHost): void {
    clock.after(healing ? 10_000 : dice.skewed(300, 60_000), () => {
      void keepServed(host).then(() => supervise(host));
    });
  }

  function superviseCoordinator(): void {
    clock.after(healing ? 10_000 : dice.skewed(300, 60_000), () => {
      void coordinator.start().then(superviseCoordinator);
    });
  }

  async function keepServed(host: SimHost): Promise<void> {
    if (!host.hasGateway()) await host.startGateway();
    // The operator: an agent that was launched anew is worked with after a while.
    const gateway = host.gateway();
    if (gateway && (healing || dice.chance(0.2))) {
      const status = await gateway.client.call("status", {});
      if (status.kind === "ok" && status.body.managed_agent_recovery === "reconciliation_required")
        await gateway.client.call("reconcile", {});
    }
    if (!healing) return;
    if (!gateway || woken.has(gateway.process.pid)) return tidy(host);
    if (await mail.setNotifier(host, gateway.client, 60)) woken.add(gateway.process.pid);
  }

  /** A person answers what is asked, takes drafts away and launches what has ended. */
  function tidy(host: SimHost): void {
    if (host.surface.readySinceMs() !== null) return;
    const surface = host.tmux.session()?.pane.surface();
    if (surface?.program !== "agent") host.launch("new_session");
    else if (surface.deciding) host.person("1");
    else if (clock.nowMs() - host.surface.draftSinceMs() > 15_000) host.person("\x15");
  }

  function disturb(host: SimHost): void {
    const session = host.tmux.session();
    const surface = session?.pane.surface();
    if (!session || !surface || surface.program !== "agent") {
      // Somebody launches it again, or something else meanwhile.
      host.launch(dice.chance(0.5) ? "same_session" : "new_session", dice.chance(0.2));
      return;
    }
    const roll = dice.next();
    if (roll < 0.25) host.endAgent();
    else if (roll < 0.35) host.endSession();
    else if (roll < 0.45) host.launch("same_session");
    else if (roll < 0.5) host.launch("new_session");
    else if (roll < 0.6) host.tmux.dropClients();
    else if (roll < 0.65) session.inMode = true;
    else personTypes(host);
    world.count("disturbances");
  }

  /** Some letters, and a while later their end. */
  function personTypes(host: SimHost): void {
    const { pane } = host.tmux.session() ?? {};
    for (const [nth, letter] of [..."hm, well"].entries()) {
      clock.after(nth * dice.whole(30, 200), () => {
        if (pane === host.tmux.session()?.pane && !pane?.surface().deciding) host.person(letter);
      });
    }
    clock.after(dice.skewed(2000, 120_000), () => endDraft(host, dice.chance(0.5) ? "\x15" : "\r"));
  }

  /** Whoever sees somebody else's text beside his own waits until it has gone. */
  function endDraft(host: SimHost, key: string): void {
    const surface = host.tmux.session()?.pane.surface();
    if (surface?.program !== "agent" || surface.draft === "") return;
    if (/^[hm, wel]*$/.test(surface.draft) && !surface.deciding) host.person(key);
    else clock.after(5000, () => endDraft(host, key));
  }

  /** Dialogs that nobody else closes. */
  function answer(host: SimHost): void {
    if (host.tmux.session()?.pane.surface().deciding) host.person(dice.pick(["1", "\x1b"] as const));
  }

  return {
    begin(until) {
      wanted = until;
      weather.crashes = true;
      now(() => spell("diskFull", 60_000), minutes(40));
      now(() => spell("slowDisk", 120_000), minutes(30));
      now(() => clock.jumpWall(dice.whole(-7_200_000, 7_200_000)), minutes(90));
      now(() => {
        for (const host of hosts) host.crashGateway("the machine");
        coordinator.crash("the machine");
      }, minutes(120));
      superviseCoordinator();
      now(() => coordinator.crash("SIGKILL"), minutes(20));
      now(() => void coordinator.stop(), minutes(60));
      for (const host of hosts) {
        supervise(host);
        now(() => host.crashGateway("SIGKILL"), minutes(25));
        now(() => void host.stopGateway(), minutes(45));
        now(() => disturb(host), minutes(8));
        now(() => answer(host), minutes(2));
      }
    },
    heal() {
      healing = true;
      weather.crashes = false;
    },
  };
}
