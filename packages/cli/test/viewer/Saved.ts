/** What the pages save: files that a button hands over, and what a picture among them shows. */
import { readFileSync } from "node:fs"
import type { Locator, Page } from "playwright-core"
import * as Waits from "../../../core/test/base/Waits.ts"

export interface File {
  readonly name: string
  readonly bytes: Buffer
}

/** Presses a button that can be clicked, at once: while a page loads, a button may be replaced under a mouse. */
const press = async (found: Locator): Promise<void> => {
  await found.click({ trial: true })
  await found.dispatchEvent("click")
}

/** What the button of that name saves, by a click unless it is pressed otherwise. */
export const by = async (
  page: Page,
  button: string,
  pressed: (found: Locator) => Promise<void> = press
): Promise<File> => {
  const end = Waits.begin({ what: `the file of ${button}` })
  const coming = page.waitForEvent("download")
  await pressed(page.getByRole("button", { name: button, exact: true }))
  const download = await coming
  end()
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) }
}

export const lines = ({ bytes }: File): ReadonlyArray<string> => bytes.toString("utf8").trim().split(/\r?\n/)

export const rows = (file: File): ReadonlyArray<{ readonly [name: string]: unknown }> =>
  lines(file).map((line) => JSON.parse(line) as { readonly [name: string]: unknown })

/** How many pixels of a picture have exactly the colour in which the page fills or strokes what a selector finds. */
export const pixelsLike = (page: Page, { bytes }: File, selector: string, property: "fill" | "stroke" = "fill") =>
  page.evaluate<number>(`(async () => {
    const bytes = Uint8Array.fromBase64(${JSON.stringify(bytes.toString("base64"))})
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }))
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d")
    context.drawImage(image, 0, 0)
    const { data } = context.getImageData(0, 0, image.width, image.height)
    const one = new OffscreenCanvas(1, 1).getContext("2d")
    one.fillStyle = getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}
    one.fillRect(0, 0, 1, 1)
    const [red, green, blue] = one.getImageData(0, 0, 1, 1).data
    let found = 0
    for (let at = 0; at < data.length; at += 4) {
      if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) found++
    }
    return found
  })()`)
