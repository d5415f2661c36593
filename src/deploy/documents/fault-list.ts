// Faults and warnings of one document.

import { findLine, formatPath, manifestLimits, type ManifestNode, type ManifestPath } from './manifest-node.ts'

/** Something that is wrong with a document, with its remedy. */
export interface Fault {
  /** `spec.env[0].name`; empty: the document. */
  readonly path: string
  /** Starts at 1; 0: unknown. */
  readonly line: number
  readonly message: string
  readonly hint: string
}

/** Formats a fault as one line after its file. */
export function formatFault(file: string, { path, line, message, hint }: Fault): string {
  const place = line === 0 ? file : `${file}:${line}`
  const subject = path === '' ? '' : `${path}: `
  return escapeUnprintable(`${place}: ${subject}${message}${hint === '' ? '' : `; ${hint}`}`)
}

/** Quotes a part of a document for a message: short, on one line. */
export function quoteValue(value: unknown): string {
  const longest = 60
  const text = typeof value === 'string' ? value : String(value)
  return escapeUnprintable(JSON.stringify(text.length > longest ? `${text.slice(0, longest)}...` : text))
}

// Control and format characters, lone surrogates, separators of lines.
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

function escapeUnprintable(text: string): string {
  return text.replace(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** Collects the faults of one document, at most `manifestLimits.maxFaults` of each kind. */
export class FaultList {
  readonly faults: Fault[] = []
  readonly warnings: Fault[] = []
  readonly #document: ManifestNode
  /** Fields that are written with another spelling, by their formatted path. */
  readonly #spellings = new Map<string, string>()

  constructor(document: ManifestNode) {
    this.#document = document
  }

  /** Records that the field at `path` is written as `spelling`. */
  setSpelling(path: ManifestPath, spelling: string): void {
    this.#spellings.set(formatPath(path), spelling)
  }

  addFault(path: ManifestPath, message: string, hint: string, line?: number): void {
    if (this.faults.length < manifestLimits.maxFaults) this.faults.push(this.#create(path, message, hint, line))
  }

  addWarning(path: ManifestPath, message: string, hint: string, line?: number): void {
    if (this.warnings.length < manifestLimits.maxFaults) this.warnings.push(this.#create(path, message, hint, line))
  }

  /** Returns faults and warnings by line. */
  sort(): { readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] } {
    const compare = (a: Fault, b: Fault): number => a.line - b.line
    return { faults: this.faults.toSorted(compare), warnings: this.warnings.toSorted(compare) }
  }

  #create(path: ManifestPath, message: string, hint: string, line: number | undefined): Fault {
    const written = path.map((part, index) => this.#spellings.get(formatPath(path.slice(0, index + 1))) ?? part)
    return { path: formatPath(written), line: line ?? findLine(this.#document, written), message, hint }
  }
}
