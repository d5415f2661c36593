// The part of Node's Buffer that `src/protocol` uses, for the browser. The build puts it in place of the global.

const encoder = new TextEncoder()
const decoders = { utf8: new TextDecoder(), latin1: new TextDecoder('latin1') }

type Encoding = keyof typeof decoders

class ByteBuffer extends Uint8Array<ArrayBuffer> {
  static override from(source: string | Iterable<number> | ArrayLike<number>): ByteBuffer {
    const bytes = typeof source === 'string' ? encoder.encode(source) : Uint8Array.from(Array.from(source))
    return new ByteBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  static alloc(bytes: number): ByteBuffer {
    return new ByteBuffer(new ArrayBuffer(bytes))
  }

  static allocUnsafe(bytes: number): ByteBuffer {
    return new ByteBuffer(new ArrayBuffer(bytes))
  }

  static allocUnsafeSlow(bytes: number): ByteBuffer {
    return new ByteBuffer(new ArrayBuffer(bytes))
  }

  static byteLength(text: string): number {
    return encoder.encode(text).byteLength
  }

  copy(target: Uint8Array, at: number, start: number, end: number): void {
    target.set(this.subarray(start, end), at)
  }

  override toString(encoding: Encoding = 'utf8', start = 0, end = this.length): string {
    return decoders[encoding].decode(this.subarray(start, end))
  }

  /** Returns how many bytes were written. */
  write(text: string, at: number): number {
    return encoder.encodeInto(text, this.subarray(at)).written
  }

  writeUInt16BE(value: number, at: number): number {
    this[at] = value >> 8
    this[at + 1] = value
    return at + 2
  }

  writeUInt32BE(value: number, at: number): number {
    new DataView(this.buffer, this.byteOffset).setUint32(at, value)
    return at + 4
  }

  readUInt32BE(at: number): number {
    return new DataView(this.buffer, this.byteOffset).getUint32(at)
  }
}

export { ByteBuffer as Buffer }
