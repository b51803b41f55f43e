import { join } from "node:path";

/** Where one server of a test keeps its things and listens. All ports are of the loopback interface. */
export interface CyrusPlace {
  folder: string;
  ports: { http: number; imap: number; lmtp: number; smtp: number };
  /** Whose processes they are: the server runs as whoever runs the tests. */
  user: string;
  group: string;
}

/** Mail of the tests is in this domain. The server's own must be another one: it strips that from a login. */
export const domain = "svc.localhost";

/** Folders that must be there before the server starts. */
export const folders = [
  ...["db", "socket", "log", "msg", "proc", "ptclient"].map((name) => join("lib", name)),
  "spool",
  "sieve",
  "search",
  "run/proc",
  "run/lock",
  "run/socket",
];

export function imapdConf({ folder, ports, user, group }: CyrusPlace): string {
  return `
cyrus_user: ${user}
cyrus_group: ${group}
configdirectory: ${folder}/lib
proc_path: ${folder}/run/proc
mboxname_lockpath: ${folder}/run/lock
defaultpartition: default
partition-default: ${folder}/spool
sievedir: ${folder}/sieve
servername: localhost
virtdomains: userid
defaultdomain: localhost
admins: cyrus
unixhierarchysep: yes
altnamespace: yes
allowplaintext: yes
allowanonymouslogin: no
sasl_pwcheck_method: auxprop
sasl_auxprop_plugin: sasldb
sasl_sasldb_path: ${folder}/sasldb2
sasl_mech_list: PLAIN LOGIN
autocreate_quota: 0
autocreate_post: no
autocreate_inbox_folders: Sent|Drafts|Trash
xlist-sent: Sent
xlist-drafts: Drafts
xlist-trash: Trash
duplicatesuppression: yes
conversations: yes
conversations_db: twoskip
search_engine: none
httpmodules: jmap
smtp_backend: host
smtp_host: 127.0.0.1:${ports.smtp}
lmtpsocket: ${folder}/run/socket/lmtp
idlesocket: ${folder}/run/socket/idle
notifysocket: ${folder}/run/socket/notify
`.trimStart();
}

export function cyrusConf({ folder, ports }: CyrusPlace): string {
  const service = (name: string, program: string, port: number, more: string) =>
    `  ${name} cmd="/usr/lib/cyrus/bin/${program} -C ${folder}/imapd.conf" listen="127.0.0.1:${port}" ${more}`;
  return [
    `START {\n  recover cmd="/usr/lib/cyrus/bin/ctl_cyrusdb -C ${folder}/imapd.conf -r"\n}`,
    "SERVICES {",
    service("http", "httpd", ports.http, "prefork=1 maxchild=30"),
    service("imap", "imapd", ports.imap, "prefork=0 maxchild=5"),
    service("lmtp", "lmtpd -a", ports.lmtp, "prefork=0 maxchild=5"),
    "}\nEVENTS {\n}\n",
  ].join("\n");
}
