import { Elysia } from "elysia";
import { mailEndpoints as endpoints } from "../../protocol/mail-endpoints.ts";
import { repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import type { GatewayServices } from "./services.ts";

/** The agent's mail (contract 4.1, mail rows). None of it waits for the execution slot. */
export const mailRoutes = ({ mail }: Pick<GatewayServices, "mail">) =>
  new Elysia({ name: "gateway-mail" })
    .use(jsonBody)
    .get(endpoints.mailStatus.path, () => mail.status(), { response: repliesOf(endpoints.mailStatus) })
    .post(endpoints.mailList.path, ({ body }) => mail.list(body), {
      ...takes(endpoints.mailList),
      response: repliesOf(endpoints.mailList),
    })
    .post(endpoints.mailPeek.path, ({ body }) => mail.peek(body), {
      ...takes(endpoints.mailPeek),
      response: repliesOf(endpoints.mailPeek),
    })
    .post(endpoints.mailRead.path, ({ body }) => mail.read(body), {
      ...takes(endpoints.mailRead),
      response: repliesOf(endpoints.mailRead),
    })
    .post(endpoints.mailSend.path, ({ body }) => mail.send(body), {
      ...takes(endpoints.mailSend),
      response: repliesOf(endpoints.mailSend),
    })
    .post(endpoints.mailPost.path, ({ body }) => mail.post(body), {
      ...takes(endpoints.mailPost),
      response: repliesOf(endpoints.mailPost),
    })
    .post(endpoints.mailReply.path, ({ body }) => mail.reply(body), {
      ...takes(endpoints.mailReply),
      response: repliesOf(endpoints.mailReply),
    })
    .post(endpoints.mailMark.path, ({ body }) => mail.mark(body), {
      ...takes(endpoints.mailMark),
      response: repliesOf(endpoints.mailMark),
    })
    .post(endpoints.mailMove.path, ({ body }) => mail.move(body), {
      ...takes(endpoints.mailMove),
      response: repliesOf(endpoints.mailMove),
    })
    .post(endpoints.mailArchive.path, ({ body }) => mail.archive(body), {
      ...takes(endpoints.mailArchive),
      response: repliesOf(endpoints.mailArchive),
    });
