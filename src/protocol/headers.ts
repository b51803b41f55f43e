/** The header of a GUI stream that names its connection. */
export const aguiConnectionHeader = "x-svc-connection-id";
