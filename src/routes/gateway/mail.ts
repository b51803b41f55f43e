import { Elysia } from "elysia";
import { mailEndpoints as endpoints } from "../../protocol/mail-endpoints.ts";
import { repliesOf } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import type { GatewayServices } from "./services.ts";

/** The agent's mail (contract 4.1, mail rows). None of it waits for the execution slot. */
export const mailRoutes = ({ mail }: Pick<GatewayServices, "mail">) =>
  new Elysia({ name: "gateway-mail" })
    .use(jsonBody)
    .get(endpoints.mailStatus.path, () => mail.status(), { response: repliesOf(endpoints.mailStatus) })
    .post(endpoints.mailList.path, ({ body }) => mail.list(body), {
      parse: "limitedJson",
      body: endpoints.mailList.body,
      response: repliesOf(endpoints.mailList),
    })
    .post(endpoints.mailPeek.path, ({ body }) => mail.peek(body), {
      parse: "limitedJson",
      body: endpoints.mailPeek.body,
      response: repliesOf(endpoints.mailPeek),
    })
    .post(endpoints.mailRead.path, ({ body }) => mail.read(body), {
      parse: "limitedJson",
      body: endpoints.mailRead.body,
      response: repliesOf(endpoints.mailRead),
    })
    .post(endpoints.mailSend.path, ({ body }) => mail.send(body), {
      parse: "limitedJson",
      body: endpoints.mailSend.body,
      response: repliesOf(endpoints.mailSend),
    })
    .post(endpoints.mailPost.path, ({ body }) => mail.post(body), {
      parse: "limitedJson",
      body: endpoints.mailPost.body,
      response: repliesOf(endpoints.mailPost),
    })
    .post(endpoints.mailReply.path, ({ body }) => mail.reply(body), {
      parse: "limitedJson",
      body: endpoints.mailReply.body,
      response: repliesOf(endpoints.mailReply),
    })
    .post(endpoints.mailMark.path, ({ body }) => mail.mark(body), {
      parse: "limitedJson",
      body: endpoints.mailMark.body,
      response: repliesOf(endpoints.mailMark),
    })
    .post(endpoints.mailMove.path, ({ body }) => mail.move(body), {
      parse: "limitedJson",
      body: endpoints.mailMove.body,
      response: repliesOf(endpoints.mailMove),
    })
    .post(endpoints.mailArchive.path, ({ body }) => mail.archive(body), {
      parse: "limitedJson",
      body: endpoints.mailArchive.body,
      response: repliesOf(endpoints.mailArchive),
    });
