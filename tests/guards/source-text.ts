/** A string literal of a source file; template literals are given piece by piece, without their `${}` parts. */
export interface Literal {
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
  const code = source.split("");
  const comments: string[] = code.map((char) => (char === "\n" ? "\n" : " "));
  const literals: Literal[] = [];
  // One entry per open `${`: how many ordinary braces are open inside it.
  const templates: number[] = [];
  let at = 0;

  const blank = (from: number, to: number) => {
    for (let index = from; index < to; index++) if (code[index] !== "\n") code[index] = " ";
  };
  const endOf = (pattern: RegExp, from: number): number => {
    pattern.lastIndex = from;
    return pattern.exec(source) ? pattern.lastIndex : source.length;
  };
  const literalUntil = (pattern: RegExp, closing: number) => {
    const start = at + 1;
    const end = endOf(pattern, start) - closing;
    literals.push({ text: source.slice(start, end), start });
    blank(start, end);
    at = end + closing;
  };
  const templatePiece = () => {
    const start = at + 1;
    const end = endOf(/(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/g, start);
    literals.push({ text: source.slice(start, end), start });
    blank(start, end);
    const opens = source.startsWith("${", end);
    if (opens) templates.push(0);
    at = end + (opens ? 2 : 1);
  };
  const comment = (pattern: RegExp) => {
    const end = endOf(pattern, at);
    for (let index = at; index < end; index++) comments[index] = source[index] ?? " ";
    blank(at, end);
    at = end;
  };

  while (at < source.length) {
    const char = source[at];
    const open = templates.length - 1;
    if (source.startsWith("//", at)) comment(/[^\n]*/g);
    else if (source.startsWith("/*", at)) comment(/\*\//g);
    else if (char === '"') literalUntil(/(?:\\[\s\S]|[^\\"])*"/g, 1);
    else if (char === "'") literalUntil(/(?:\\[\s\S]|[^\\'])*'/g, 1);
    else if (char === "`") templatePiece();
    else if (char === "}" && templates[open] === 0) {
      templates.pop();
      templatePiece();
    } else if (char === "/" && regexMayFollow.test(code.slice(Math.max(0, at - 40), at).join(""))) {
      const end = endOf(/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//g, at + 1) - 1;
      blank(at + 1, end);
      at = end + 1;
    } else {
      if (char === "{" && open >= 0) templates[open] = (templates[open] ?? 0) + 1;
      if (char === "}" && open >= 0) templates[open] = (templates[open] ?? 0) - 1;
      at++;
    }
  }
  return { code: code.join(""), comments: comments.join(""), literals };
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
