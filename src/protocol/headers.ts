/**
 * With `GET /health`: 32 to 128 hexadecimal digits, to which a server whose session keeps a key answers with the second
 * header: HMAC-SHA256 of the challenge and its port. So our clients know a server before they show it a token.
 */
export const challengeHeader = "x-svc-challenge";
export const challengeAnswerHeader = "x-svc-challenge-answer";

/** The header of a GUI stream that names its connection. */
export const aguiConnectionHeader = "x-svc-connection-id";
