import { coordinatorEndpoints } from "../../protocol/coordinator-endpoints.ts";
import type { FleetLedger, FleetLedgerQuery } from "../../protocol/fleet-ledger.ts";
import { ledgerEndpoints } from "../../protocol/ledger.ts";
import { metricsEndpoints } from "../../protocol/metrics-endpoints.ts";
import { recorderEndpoints } from "../../protocol/recorder.ts";
import { transcriptEndpoints } from "../../protocol/transcript.ts";
import type { Ledger } from "../../services/extensions/observe/ledger/ledger.ts";
import type { RecorderControl } from "../../services/extensions/observe/recorder/recorder-control.ts";
import type { Transcript } from "../../services/extensions/observe/transcript/transcript.ts";
import type { KeptAnswers } from "../../services/sessions/kept-answers.ts";
import { type Handlers, mount, type Routes } from "../http/mount.ts";

/** The services behind the routes about the past of one agent. */
export interface GatewayObservers {
  transcript: Transcript;
  ledger: Pick<Ledger, "page" | "summary">;
  recorder: Pick<RecorderControl, "status" | "update" | "moment" | "cast">;
  /** A scrape in the Prometheus text format. */
  metrics: { scrape(): Promise<{ text: string; contentType: string }> };
  answers: KeptAnswers;
}

/** Transcript, ledger, recorder and metrics of one gateway. */
export function gatewayObserveRoutes(services: GatewayObservers): readonly Routes[] {
  return [
    mount({
      name: "gateway-transcript",
      endpoints: transcriptEndpoints,
      handlers: transcriptHandlers(services),
    }),
    mount({ name: "gateway-ledger", endpoints: ledgerEndpoints, handlers: ledgerHandlers(services) }),
    mount({
      name: "gateway-recorder",
      endpoints: recorderEndpoints,
      handlers: recorderHandlers(services),
      answers: services.answers,
    }),
    mount({
      name: "gateway-metrics",
      endpoints: metricsEndpoints,
      handlers: { gatewayMetrics: async () => textAnswer(await services.metrics.scrape()) },
      unchecked: "all",
    }),
  ];
}

/** The services behind the same routes for an agent without a gateway. */
interface StoredObservers extends Pick<GatewayObservers, "transcript" | "ledger"> {
  recorder: Pick<RecorderControl, "status" | "moment" | "cast">;
}

/** Transcript, ledger and recorder of an agent without a gateway. */
export function storedObserveRoutes(services: StoredObservers): readonly Routes[] {
  const { readRecorder, recordedMoment, recordedCast } = recorderEndpoints;
  const { recorder } = services;
  return [
    mount({
      name: "stored-transcript",
      endpoints: transcriptEndpoints,
      handlers: transcriptHandlers(services),
    }),
    mount({ name: "stored-ledger", endpoints: ledgerEndpoints, handlers: ledgerHandlers(services) }),
    mount({
      name: "stored-recorder",
      endpoints: { readRecorder, recordedMoment, recordedCast },
      handlers: {
        readRecorder: () => recorder.status(),
        recordedMoment: ({ query }) => recorder.moment(query),
        recordedCast: ({ query }) => recorder.cast(query),
      },
    }),
  ];
}

const textAnswer = ({ text, contentType }: { text: string; contentType: string }) =>
  new Response(text, { headers: { "content-type": contentType } });

/** The flight recorder (additional; decision 81). */
const recorderHandlers = ({
  recorder,
}: Pick<GatewayObservers, "recorder">): Handlers<typeof recorderEndpoints> => ({
  readRecorder: () => recorder.status(),
  updateRecorder: ({ body }) => recorder.update(body),
  recordedMoment: ({ query }) => recorder.moment(query),
  recordedCast: ({ query }) => recorder.cast(query),
});

/** Prompts and answers of the agent (additional; decision 51). */
const transcriptHandlers = ({
  transcript,
}: Pick<GatewayObservers, "transcript">): Handlers<typeof transcriptEndpoints> => ({
  transcript: ({ query }) => transcript.page(query),
  transcriptTurn: ({ params, query }) => transcript.turn(params.turn_id, query),
});

/** Token use of the turns (additional; decision 80). */
const ledgerHandlers = ({ ledger }: Pick<GatewayObservers, "ledger">): Handlers<typeof ledgerEndpoints> => ({
  ledger: ({ query }) => ledger.page(query),
  ledgerSummary: ({ query }) => ledger.summary(query),
});

/** The services behind the routes about the past of all agents. */
interface CoordinatorObservers {
  ledger: { sum(query: FleetLedgerQuery): Promise<FleetLedger> };
  /** A scrape in the Prometheus text format. */
  metrics: { scrape(): Promise<{ text: string; contentType: string }> };
}

/** The ledger and the metrics of all agents. */
export function coordinatorObserveRoutes({ ledger, metrics }: CoordinatorObservers): readonly Routes[] {
  const { fleetLedger, metrics: fleetMetrics } = coordinatorEndpoints;
  return [
    mount({
      name: "coordinator-observe",
      endpoints: { fleetLedger, metrics: fleetMetrics },
      unchecked: ["metrics"],
      handlers: {
        fleetLedger: ({ query }) => ledger.sum(query),
        metrics: async () => textAnswer(await metrics.scrape()),
      },
    }),
  ];
}
