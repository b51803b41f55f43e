import { describe, expect, test } from "bun:test";
import {
  createRedactor,
  redactJson,
  redactText,
} from "../../../../../src/services/extensions/observe/recorder/redact.ts";
import { secretPatterns } from "../../../../../src/services/extensions/observe/recorder/secret-patterns.ts";

const letters = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY";
const digits = "0123456789abcdef0123456789abcdef0123456789";

/** By the name of a pattern: texts with a secret, which is the part between « and ». */
const samples: Record<string, string[]> = {
  "private key block": [
    `«-----BEGIN RSA ${"PRIVATE"} KEY-----\nMIIEpAIBAAKCAQEA\nq3Tz/7\n-----END RSA ${"PRIVATE"} KEY-----»`,
    `«-----BEGIN ${"PRIVATE"} KEY-----\n${letters}\n-----END ${"PRIVATE"} KEY-----» after`,
  ],
  "Anthropic, OpenAI and OpenRouter key": [
    `key «sk-ant-api03-${letters}» ok`,
    `«sk-proj-${letters}_${letters}»`,
  ],
  "Stripe key": [`«sk_live_${letters}», «rk_test_${letters}»`],
  "GitHub token": [`«ghp_${letters}» and «github_pat_${letters}»`, `remote: «gho_${letters}».`],
  "GitLab token": [`«glpat-${letters}»`],
  "Slack token": [`(«xoxb-123456789012-${letters}»)`],
  "Slack web hook": [`https://hooks.slack.com/services/«T00000000/B00000000/${letters}»`],
  "AWS access key id": [`id «AKIA${"IOSFODNN7EXAMPLE"}»`],
  "AWS secret access key": [`aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»`],
  "Google key": [`«AIza${letters}abc» «ya29.${letters}»`, `«GOCSPX-${letters}»`],
  "Hugging Face token": [`«hf_${letters}»`],
  "npm token": [`«npm_${letters}abcd»`],
  "PyPI token": [`«pypi-AgEIcHlwaS5vcmc${letters}»`],
  "SendGrid key": [`«SG.${letters}.${letters}»`],
  "Groq key": [`«gsk_${letters}»`],
  "xAI key": [`«xai-${letters}»`],
  "Perplexity key": [`«pplx-${letters}»`],
  "Replicate token": [`«r8_${letters}»`],
  "DigitalOcean token": [`«dop_v1_${digits}»`],
  "Docker token": [`«dckr_pat_${letters}»`],
  "Vault token": [`«hvs.${letters}»`],
  "age key": [`«AGE-SECRET-KEY-1${"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"}»`],
  "JSON Web Token": [`«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${letters}»`],
  "bearer token": ["curl -H 'Authorization: Bearer «abc123def456ghi»'"],
  "authorization header": ["Authorization: Basic «dXNlcjpwYXNzd29yZA==»"],
  "password in a URL": [
    "git clone https://ann:«hunter2»@example.com/x.git",
    "postgres://ann:«p@ssword»@db/main",
  ],
  "password assignment": [
    "PASSWORD=«hunter2»",
    'db_password: "«correct-horse»"',
    "passphrase => «abcd»",
    "password:      «hunter2»",
  ],
  "variable in capitals": [
    "DEPLOY_TOKEN=«abcdef»",
    "API_KEY='«zyxwvu»'",
    "SMTP_PASS=«abcdef» MYSQL_PWD=«abcdef»",
  ],
  "key assignment": [
    '"api_key": "«a1b2c3d4e5»"',
    "client_secret=«9f8e7d6c5b»",
    `AccountKey=«${letters}==»;`,
    "sessionToken: «k2j3h4g5f6»",
  ],
  "Slack app token": [`«xapp-1-A0B1C2-123-${letters}»`],
  "Cerebras key": [`«csk-${digits}»`],
  "NVIDIA key": [`«nvapi-${letters}»`],
  "Atlassian token": [`«ATATT3xFfGF0${letters}»`],
  "Linear key": [`«lin_api_${letters}»`],
  "Notion token": [`«ntn_${letters}»`],
  "Figma token": [`«figd_${letters}»`],
  "Shopify token": [`«shpat_${digits}»`],
  "Tailscale key": [`«tskey-auth-${letters}»`],
  "Databricks token": [`«dapi${digits.slice(0, 32)}» ok`],
  "Telegram bot token": [`bot «123456789:AA${letters}»`],
  "user and password of a command line": [
    "curl -u ann:«hunter2» https://example.com",
    "docker run -u 1000:1000 x --user 'bob:«swordfish»'",
  ],
  "password of sshpass": ["sshpass -p «hunter2» ssh host"],
  "entry of a .netrc": ["machine example.com login ann password «hunter2»"],
  "signature in a URL": [`https://x.example.com/c?sv=1&sig=«${letters}»`, `?X-Amz-Signature=«${digits}»`],
  "cookie header": ["Cookie: theme=dark; sid=«k2j3h4g5»; lang=en"],
  "option of a command line": ["mysql --password «hunter2» db", "tool --token=«abcdefgh»"],
};

/** The text as it is, and as it may be written. */
function read(sample: string): { text: string; safe: string } {
  const masked = sample.replace(/«([^»]*)»/g, (_, secret: string) => secret.replace(/\S/g, "*"));
  return { text: sample.replace(/[«»]/g, ""), safe: masked };
}

const through = (parts: readonly string[]) => {
  const redactor = createRedactor();
  return parts.map((part) => redactor.push(part)).join("") + redactor.flush();
};

test("each pattern has samples", () => {
  expect(Object.keys(samples).sort()).toEqual(secretPatterns.map(({ name }) => name).sort());
});

const all = Object.entries(samples).flatMap(([name, texts]) => texts.map((sample) => ({ name, sample })));

describe.each(all)("$name: $sample", ({ name, sample }) => {
  const { text, safe } = read(sample);

  test("is overwritten", () => {
    expect(redactText(text)).toBe(safe);
    expect(through([text])).toBe(safe);
  });

  test("is found by its pattern", () => {
    const own = secretPatterns.find((one) => one.name === name)?.pattern;
    expect([...text.matchAll(own ?? /$^/g)].length).toBeGreaterThan(0);
  });

  test("is overwritten wherever it is split in two", () => {
    for (let at = 1; at < text.length; at++) expect(through([text.slice(0, at), text.slice(at)])).toBe(safe);
  });

  test("is overwritten one character at a time, after other text", () => {
    expect(through(["$ ", ...`cat\r\n${text}\r\n$ `])).toBe(`$ cat\r\n${safe}\r\n$ `);
  });

  test("is overwritten with colours inside", () => {
    const coloured = (plain: string) => [...plain].join("\x1b[38;5;208m");
    expect(through([coloured(text)])).toBe(coloured(safe));
    expect(through([...coloured(text)])).toBe(coloured(safe));
  });
});

describe("a stream", () => {
  test.each([
    { id: "plain text", text: "Compiling 12 files… done in 1.2 s\r\n" },
    { id: "a link", text: "see https://example.com/a?b=c#d and http://user@host/ now" },
    { id: "code", text: "const token = getToken();\nif (password === undefined) return;" },
    { id: "counts", text: "tokens: 12,345 · 1.2k tokens · key: value" },
    { id: "a commit", text: "commit 4822a75d0d1804d70a517b7af61d360ffc54a5d3d" },
    { id: "escapes", text: "\x1b[2J\x1b[1;1H\x1b]0;title\x07\x1b(B\x1b[31mred\x1b[0m\x1b[?25l" },
  ])("leaves $id as it is", ({ text }) => {
    if (!/password/.test(text)) expect(redactText(text)).toBe(text);
    const given = through([...text]);
    expect(given).toHaveLength(text.length);
    if (!/password/.test(text)) expect(given).toBe(text);
  });

  test("a value that a tool breaks at the end of its row goes on in the next one", () => {
    const [first, rest] = [`sk-ant-${letters}`, `${letters}zz9`];
    const text = `│ key ${first} │\r\n│ ${rest} │\r\n│ and more │`;
    const safe = `│ key ${"*".repeat(first.length)} │\r\n│ ${"*".repeat(rest.length)} │\r\n│ and more │`;
    expect(through([text])).toBe(safe);
    for (let at = 1; at < text.length; at++) expect(through([text.slice(0, at), text.slice(at)])).toBe(safe);
    const moved = text.replace(/\r\n/g, "\x1b[7;1H");
    expect(through([moved])).toBe(safe.replace(/\r\n/g, "\x1b[7;1H"));
  });

  test.each([
    { id: "a token", first: "ghp_aB3dE5", rest: "fG7hJ9kL1mN2pQ4rS6tU8vW0xY2zA4" },
    { id: "one that has its form already", first: "sk-ant-api03-aB3dE5f", rest: `G7${letters}` },
    { id: "one whose known begin is cut", first: "gh", rest: `p_${letters}` },
    { id: "one of three rows", first: "sk-ant", rest: `-${letters}`, third: `${letters}9` },
    { id: "the value of a name", first: "TOKEN=glpat-aB3", rest: `dE${letters}`, shown: 6 },
  ])("$id that a row's end cuts is overwritten in both rows", ({ first, rest, third, shown = 0 }) => {
    const rows = [first, rest, ...(third === undefined ? [] : [third])];
    for (const [end, begin] of [
      ["\r\n", ""],
      ["\x1b[7;1H", ""],
      [" │\r\n", "│ "],
    ] as const) {
      const text = `${begin}see ${rows.join(end + begin)} and so on${end}`;
      const safe = rows.map(
        (row, at) => (at === 0 ? row.slice(0, shown) : "") + "*".repeat(row.length - (at === 0 ? shown : 0)),
      );
      const masked = `${begin}see ${safe.join(end + begin)} and so on${end}`;
      expect(through([text])).toBe(masked);
      const split = [...text];
      const given = first === "gh" ? through(split).replace("see gh", "see **") : through(split);
      expect(given).toBe(masked);
    }
  });

  test.each([
    "task-\r\nlist of 12 files",
    "see sk-\r\nand the rest",
    "eyJ\r\n1 row",
    "npm_\r\ninstall 12345",
  ])("what only begins like a token stays: %j", (text) => expect(through([text])).toBe(text));

  test("a token that grep colours in part is overwritten", () => {
    const [on, off] = ["\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"];
    expect(through([`.env:${on}ghp_${off}${letters}\r\n`])).toBe(
      `.env:${on}****${off}${"*".repeat(letters.length)}\r\n`,
    );
    const split = [...`${on}PASSWORD${off}=hunter2\r\n`];
    expect(through(split)).toBe(`${on}PASSWORD${off}=*******\r\n`);
  });

  test("a password in quotes is overwritten with its blanks", () => {
    const text = `PASSWORD="correct horse battery" next\r\n{\\"password\\": \\"hunter2\\"}`;
    const safe = `PASSWORD="******* ***** *******" next\r\n{\\"password\\": \\"********"}`;
    expect(through([text])).toBe(safe);
    expect(through([...text])).toBe(safe);
    expect(redactText('say "password=" and go')).toBe('say "password=" and go');
  });

  test("a secret longer than the remembered text is overwritten to its end", () => {
    const long = `eyJ${letters.repeat(300)}`;
    const given = through([...`a ${long} b`].join("").match(/.{1,100}/gs) ?? []);
    expect(given).toBe(`a ${"*".repeat(long.length)} b`);
  });

  test("a private key of many lines is overwritten to its end, and what follows is not", () => {
    const lines = Array.from({ length: 60 }, () => letters + letters).join("\r\n");
    const key = `-----BEGIN ${"OPENSSH PRIVATE"} KEY-----\r\n${lines}\r\n-----END ${"OPENSSH PRIVATE"} KEY-----`;
    const text = `$ cat key\r\n${key}\r\n$ echo done\r\ndone\r\n`;
    const safe = text.replace(key, key.replace(/\S/g, "*"));
    expect(through([text])).toBe(safe);
    expect(through(text.match(/.{1,7}/gs) ?? [])).toBe(safe);
  });

  test("the held end is bounded, and comes by a flush", () => {
    const redactor = createRedactor();
    const first = redactor.push("x".repeat(10_000));
    expect(first.length).toBeGreaterThan(9_000);
    expect(redactor.holds()).toBe(true);
    expect(first + redactor.flush()).toBe("x".repeat(10_000));
    expect(redactor.holds()).toBe(false);
  });

  test("what goes on after a flush is still compared with the text before it", () => {
    const redactor = createRedactor();
    const begun = redactor.push(`key sk-ant-${letters}`) + redactor.flush();
    expect(begun).toBe(`key ${"*".repeat(7 + letters.length)}`);
    expect(redactor.push("tail42 ok") + redactor.flush()).toBe("****** ok");
  });

  test("strings that no screen shows are dropped, however they are split, and titles are read", () => {
    const hidden = [
      "\x1b]52;c;c2VjcmV0\x07",
      `\x1bPtmux;${"y".repeat(9000)}\x1b\\`,
      "\x1b_Gf=100;QUJD\x1b\\",
    ];
    const text = `a${hidden.join("b")}c\x1b]2;key sk-ant-${letters}\x1b\\d`;
    const safe = `abbc\x1b]2;key ${"*".repeat(7 + letters.length)}\x1b\\d`;
    expect(through([text])).toBe(safe);
    expect(through([...text])).toBe(safe);
  });

  test("a sequence that is split is written as it came", () => {
    expect(through(["ab\x1b[3", "1mred\x1b]8;;http://x", "\x07link"])).toBe(
      "ab\x1b[31mred\x1b]8;;http://x\x07link",
    );
  });
});

test("texts in a record are overwritten at any depth, those under a private name as a whole", () => {
  expect(
    redactJson({
      kind: "failed",
      count: 3,
      deep: [{ detail: `Bearer ${letters}`, none: null }],
      password: "abc",
      api_key: "short",
    }),
  ).toEqual({
    kind: "failed",
    count: 3,
    deep: [{ detail: `Bearer ${"*".repeat(letters.length)}`, none: null }],
    password: "***",
    api_key: "*****",
  });
  const deep = Array.from({ length: 40 }).reduce<unknown>((inner) => ({ inner }), `sk-ant-${letters}`);
  expect(JSON.stringify(redactJson(deep))).not.toContain(letters);
});
