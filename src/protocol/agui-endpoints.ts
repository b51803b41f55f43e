import {
  AguiCapabilities,
  AguiConnectInput,
  AguiDetached,
  AguiEvent,
  AguiNotConnected,
  AguiRunInput,
  aguiEventKinds,
} from "./agui.ts";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { eventStream } from "./events.ts";
import { ErrorBody, ValidationErrorBody } from "./wire.ts";

const aguiEvents = eventStream({ item: AguiEvent, kinds: aguiEventKinds });

/** What GUI clients ask besides their streams. */
export const aguiEndpoints = {
  aguiCapabilities: endpoint({
    method: "GET",
    path: "/v1/ag-ui/capabilities",
    summary: "What a GUI client may expect",
    status: 200,
    reply: AguiCapabilities,
  }),
  aguiDetach: endpoint({
    method: "DELETE",
    path: "/v1/ag-ui/connections/:connection_id",
    summary: "Detach a GUI stream",
    description: "Its stream is finished; the agent is left as it is.",
    status: 200,
    reply: AguiDetached,
    errors: { 404: AguiNotConnected },
  }),
} as const;

/** Streams of the AG-UI protocol: each event a line `data`, a comment in silence. */
export const aguiStreamEndpoints = {
  aguiConnect: endpoint({
    method: "POST",
    path: "/v1/ag-ui/connect",
    summary: "Attach a GUI client, as an AG-UI event stream",
    description:
      "The state of the gateway and its agent now, and again whenever it changes, until the client leaves or is detached. Submits no work and replays nothing. The header x-svc-connection-id names the connection. At most 64 are attached at once; 503 then.",
    body: AguiConnectInput,
    status: 200,
    reply: aguiEvents,
    errors: { 422: ValidationErrorBody, 503: ErrorBody },
  }),
  aguiRun: endpoint({
    method: "POST",
    path: "/v1/ag-ui/runs",
    summary: "Run a task from a GUI client, as an AG-UI event stream",
    description:
      "The task becomes an ordinary request of the queue; the stream carries what the agent says and does until its turn has ended. A client that leaves ends the stream, not the task. Refused while anything waits or runs.",
    body: AguiRunInput,
    status: 200,
    reply: aguiEvents,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
} as const;
