/**
 * A string literal of a source file; template literals are given piece by piece, without their `${}` parts.
 */
interface Literal {
  text: string;
  /** Offset of the first character after the opening quote. */
  start: number;
}

export interface SourceText {
  /** Same length and same lines as the source; comments and the inside of strings and regexes are blanks. */
  code: string;
  /** Same length; everything but comments is blank. */
  comments: string;
  literals: Literal[];
}

const regexMayFollow =
  /(?:^|[([{},;=:!&|?+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|throw|await|yield))\s*$/;

/**
 * Tells code, comments and literals of a TypeScript file apart, so that a guard never trips over prose and
 * never misses `${code}` inside a template. Types stay, so type-only imports are seen too.
 */
export function splitSource(source: string): SourceText {
  const code = createCopy(source);
  const comments = createCopy(source);
  const literals: Literal[] = [];
  // One entry per open `${`: how many ordinary braces are open inside it.
  const templates: number[] = [];
  let at = 0;

  const endOf = (pattern: RegExp, from: number): number => {
    pattern.lastIndex = from;
    return pattern.test(source) ? pattern.lastIndex : source.length;
  };
  const literal = (start: number, end: number) => {
    literals.push({ text: source.slice(start, end), start });
    code.keep(start);
    code.blank(end);
  };
  const literalUntil = (pattern: RegExp) => {
    const end = endOf(pattern, at + 1) - 1;
    literal(at + 1, end);
    at = end + 1;
  };
  const templatePiece = () => {
    const end = endOf(/(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/g, at + 1);
    literal(at + 1, end);
    const opens = source.startsWith("${", end);
    if (opens) templates.push(0);
    at = end + (opens ? 2 : 1);
  };
  const comment = (pattern: RegExp) => {
    const end = endOf(pattern, at);
    comments.blank(at);
    comments.keep(end);
    code.keep(at);
    code.blank(end);
    at = end;
  };

  while (at < source.length) {
    const char = source[at];
    const open = templates.length - 1;
    if (source.startsWith("//", at)) comment(/[^\n]*/g);
    else if (source.startsWith("/*", at)) comment(/\*\//g);
    else if (char === '"') literalUntil(/(?:\\[\s\S]|[^\\"])*"/g);
    else if (char === "'") literalUntil(/(?:\\[\s\S]|[^\\'])*'/g);
    else if (char === "`") templatePiece();
    else if (char === "}" && templates[open] === 0) {
      templates.pop();
      templatePiece();
    } else if (char === "/" && regexMayFollow.test(code.before(at))) {
      const end = endOf(/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//g, at + 1) - 1;
      code.keep(at + 1);
      code.blank(end);
      at = end + 1;
    } else {
      if (char === "{" && open >= 0) templates[open] = (templates[open] ?? 0) + 1;
      if (char === "}" && open >= 0) templates[open] = (templates[open] ?? 0) - 1;
      at = endOf(/[^"'`/{}]*/g, at + 1);
    }
  }
  code.keep(source.length);
  comments.blank(source.length);
  return { code: code.text(), comments: comments.text(), literals };
}

/**
 * A copy of a text that is made from its start to its end, with the same lines: each part is kept, or blank.
 */
function createCopy(source: string) {
  let made = "";
  return {
    keep(to: number) {
      made += source.slice(made.length, to);
    },
    blank(to: number) {
      made += source.slice(made.length, to).replace(/[^\n]+/g, (line) => " ".repeat(line.length));
    },
    /** The last characters of it before `at`, with what is not copied yet. */
    before: (at: number) => `${made.slice(-40)}${source.slice(made.length, at)}`.slice(-40),
    text: () => made,
  };
}

/** Every module a source names: static, type-only, re-exported, dynamic and `require`d, in order. */
export function moduleSpecifiers(text: SourceText): { specifier: string; line: number }[] {
  const named = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(["'`])/g;
  const atOffset = new Map(text.literals.map((literal) => [literal.start, literal.text]));
  return [...text.code.matchAll(named)].flatMap((match) => {
    const specifier = atOffset.get(match.index + match[0].length);
    return specifier === undefined ? [] : [{ specifier, line: lineAt(text.code, match.index) }];
  });
}

/** 1-based line of an offset. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
