import { createHash } from "node:crypto";

/** What an executable file says of itself in its first bytes. */
export interface ExecutableFormat {
  kind: "ELF" | "Mach-O";
  bits: 64;
  machine: "x64" | "arm64";
}

const elfMachines: Record<number, ExecutableFormat["machine"]> = { 62: "x64", 183: "arm64" };
const machMachines: Record<number, ExecutableFormat["machine"]> = {
  [0x0100_0007]: "x64",
  [0x0100_000c]: "arm64",
};
const machMagic = 0xfeed_facf;

/** Reads the header of an executable of 64 bits. Throws for anything else. */
export function readExecutableFormat(file: Uint8Array): ExecutableFormat {
  const view = viewOf(file);
  if (view.getUint32(0) === 0x7f45_4c46 && view.getUint8(4) === 2) {
    return { kind: "ELF", bits: 64, machine: known(elfMachines[view.getUint16(18, true)]) };
  }
  if (view.getUint32(0, true) === machMagic) {
    return { kind: "Mach-O", bits: 64, machine: known(machMachines[view.getUint32(4, true)]) };
  }
  throw new Error("not an executable of 64 bits");
}

/**
 * The code signature of a Mach-O file: signed ad hoc, that is by no one, and the pages that differ from what
 * was signed. macOS on arm64 starts nothing that has no signature or one that differs. Throws when there is
 * none.
 */
export function readMachSignature(file: Uint8Array): { adHoc: boolean; pages: number; differing: number } {
  const view = viewOf(file);
  const directory = codeDirectory(view);
  const field = (index: number) => view.getUint32(directory + index * 4);
  const [hashes, pages, limit] = [directory + field(4), field(7), field(8)];
  const [hashSize, hashType, pageBits] = [36, 37, 39].map((at) => view.getUint8(directory + at)) as [
    number,
    number,
    number,
  ];
  if (hashType !== 2) throw new Error(`signed with a hash of type ${hashType}, not SHA-256`);
  let differing = 0;
  for (let page = 0; page < pages; page++) {
    const content = file.subarray(page << pageBits, Math.min((page + 1) << pageBits, limit));
    const signed = file.subarray(hashes + page * hashSize, hashes + (page + 1) * hashSize);
    if (!createHash("sha256").update(content).digest().equals(signed)) differing++;
  }
  return { adHoc: (field(3) & 2) !== 0, pages, differing };
}

/**
 * Where the code directory begins: a load command names the signature, whose first parts say what each one
 * is.
 */
function codeDirectory(view: DataView): number {
  const commands = view.getUint32(16, true);
  for (let index = 0, at = 32; index < commands; index++, at += view.getUint32(at + 4, true)) {
    if (view.getUint32(at, true) !== 0x1d) continue;
    const signature = view.getUint32(at + 8, true);
    for (let blob = 0; blob < view.getUint32(signature + 8); blob++) {
      const start = signature + view.getUint32(signature + 12 + blob * 8 + 4);
      if (view.getUint32(start) === 0xfade_0c02) return start;
    }
  }
  throw new Error("the file is not signed");
}

function known(machine: ExecutableFormat["machine"] | undefined): ExecutableFormat["machine"] {
  if (machine === undefined) throw new Error("for a machine that we do not build for");
  return machine;
}

function viewOf(file: Uint8Array): DataView {
  return new DataView(file.buffer, file.byteOffset, file.byteLength);
}
