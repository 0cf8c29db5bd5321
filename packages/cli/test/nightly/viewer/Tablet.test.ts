/** The pages of a run on a tablet, upright and across. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import type { Page } from "playwright-core"
import * as Browser from "../../viewer/Browser.ts"
import * as BrokenRun from "../../viewer/BrokenRun.ts"
import * as OpenService from "../../viewer/OpenService.ts"

const layerTest = Layer.effectDiscard(
  Effect.flatMap(HttpServer.addressFormattedWith(Effect.succeed), BrokenRun.fill)
).pipe(Layer.provideMerge(OpenService.layer))

/** Pixels by which the page, or the part of it that scrolls, is wider than what is seen. */
const overhang = (page: Page) =>
  page.evaluate<number>(`Math.max(
    document.documentElement.scrollWidth - innerWidth,
    ...[...document.querySelectorAll(".main, .main > :not(.sr-only)")].map((part) => part.scrollWidth - part.clientWidth)
  )`)

/** Addresses with what they show when they are there. */
const pages: ReadonlyArray<readonly [name: string, address: string, sign: string]> = [
  ["run", `/?run=${BrokenRun.name}`, ".finding, canvas"],
  ["groups", `/groups?run=${BrokenRun.name}&length_from=1`, ".row-link"],
  ["group", `/groups/${BrokenRun.name}/1`, ".rollout .message"],
  ["tokens", `/groups/${BrokenRun.name}/1?view=tokens`, ".token"],
  ["compare", `/groups/${BrokenRun.name}/1?view=compare`, ".beginnings"],
  ["evaluation", "/evaluations/1", ".item-row"],
  ["evaluations", "/evaluations/1?with=2&item=What%20is%200%20%2B%207%20%3F", ".sample-facts"],
  ["service", `/service?run=${BrokenRun.name}`, "table"]
]

describe.skipIf(!Browser.isPresent)(`a tablet${Browser.absence}`, () => {
  const { open } = Browser.suite()

  it.layer(layerTest, { excludeTestServices: true })("in a browser", (it) => {
    for (const [name, viewport] of [
      ["upright", { width: 820, height: 1180 }],
      ["across", { width: 1180, height: 820 }]
    ] as const) {
      it.effect(`shows every page whole and without serious hindrance (${name})`, () =>
        Effect.gen(function* () {
          const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
          yield* Effect.promise(async () => {
            const { errors, page } = await open(`${url}/ui`, { viewport, hasTouch: true })
            for (const [what, address, sign] of pages) {
              await page.goto(`${url}/ui#${address}`)
              await page.locator(sign).first().waitFor()
              assert.isAtMost(await overhang(page), 0, what)
              assert.deepStrictEqual(await Browser.violations(page), [], what)
            }
            assert.deepStrictEqual(errors, [])
          })
        })
      )
    }
  })
})
