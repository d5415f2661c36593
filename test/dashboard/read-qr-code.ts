import { createRequire } from 'node:module'
import type { QRCode } from 'jsqr'

type Decoder = (pixels: Uint8ClampedArray, width: number, height: number) => QRCode | null

// The package is CommonJS, its types are those of an ES module.
const decode = createRequire(import.meta.url)('jsqr') as Decoder

const pixelsOfModule = 4
const marginModules = 4

/** Returns the text of a code that is given as rows of modules (true: dark); undefined if the code is unreadable. */
export function readQrCode(rows: readonly (readonly boolean[])[]): string | undefined {
  const size = (rows.length + 2 * marginModules) * pixelsOfModule
  const pixels = new Uint8ClampedArray(size * size * 4).fill(255)
  const moduleAt = (pixel: number): number => Math.floor(pixel / pixelsOfModule) - marginModules
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const at = (y * size + x) * 4
      if (rows[moduleAt(y)]?.[moduleAt(x)]) pixels.fill(0, at, at + 3)
    }
  }
  return decode(pixels, size, size)?.data
}
