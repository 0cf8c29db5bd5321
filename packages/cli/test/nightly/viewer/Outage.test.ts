/** What a tab shows when the service behind it goes away, comes back, or has nothing left to do. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import * as Atropos from "../../crash/Atropos.ts"
import * as Ports from "../../../../core/test/base/Ports.ts"
import * as Browser from "../../viewer/Browser.ts"
import * as Registrations from "../../viewer/Registrations.ts"
import { mathGroup } from "../../viewer/SavedRollouts.ts"

const claim = { owner: "t", wait_seconds: 0, lease_seconds: 600 }

const send = async (url: string, path: string, body: object) => {
  const response = await fetch(`${url}/v1/runs${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  assert.isTrue(response.ok, `${path}: ${await response.text()}`)
}

/**
 * A run with an environment, a group that was trained on, one that waits, one that cannot, and the metrics of a step.
 */
const fill = async (url: string, name: string, steps = 100) => {
  await send(url, "", { ...Registrations.run(name, 3), num_steps: steps })
  await send(url, `/${name}/batches/claim`, claim)
  await send(url, `/${name}/environments`, Registrations.environment)
  const submit = (group: object) => send(url, `/${name}/groups`, { key: crypto.randomUUID(), group })
  await submit({ ...mathGroup, env_id: 0, policy_versions: undefined })
  await send(url, `/${name}/batches/claim`, claim)
  await submit({ ...mathGroup, env_id: 0, policy_versions: undefined })
  await submit({ tokens: [[1], [2], [3], [4]], masks: [[1], [2], [3], [4]], scores: [1, 0, 1, 0], env_id: 0 })
  await send(url, `/${name}/metrics`, { source: "trainer", step: 1, values: { "reward/mean": 0.5, "train/loss": 1 } })
}

const outage = (page: Page) => page.locator(".outage")

describe.skipIf(!Browser.isPresent)(`a tab whose service goes away${Browser.absence}`, () => {
  const { open } = Browser.suite()

  const serving = Effect.fnUntraced(function* (cwd: string, port = 0) {
    const service = yield* Atropos.start(["api", "--port", String(port)], { cwd })
    const [, url = ""] = yield* service.says(/trajectory service at (http:\S+)/)
    return { ...service, url }
  })

  it.live("says so in one way on every page, keeps what it has, and goes on by itself", () =>
    Effect.gen(function* () {
      const cwd = yield* Atropos.folder
      const port = yield* Ports.held
      const before = yield* serving(cwd, port)
      const { url } = before
      yield* Effect.promise(() => fill(url, "lasting"))
      const pages = yield* Effect.promise(async () => {
        const of = async (address: string, sign: string) => {
          const { page } = await open(`${url}/ui#${address}`, Browser.withAllColumns(url))
          await page.locator(sign).first().waitFor()
          return { page, sign }
        }
        return {
          run: await of("/?run=lasting", ".tile-value"),
          groups: await of("/groups?run=lasting", ".row-link"),
          group: await of("/groups/lasting/1", ".rollout"),
          service: await of("/service?run=lasting", "table[class=data-table]")
        }
      })
      const { group, groups, run: curves, service } = pages
      yield* Effect.promise(async () => {
        for (const name of ["Environments", "Batches"]) await service.page.getByRole("table", { name }).waitFor()
        // Steps count as the trainer counts them.
        await Browser.becomes(() => groups.page.locator(".group-rows .cell-step").allInnerTexts(), ["–", "–", "1"])
        assert.match(await group.page.locator(".group-facts").innerText(), /step 1/)
        assert.include(await service.page.getByRole("table", { name: "Batches" }).locator("tbody").innerText(), "1")
        const stuck = service.page.getByRole("table", { name: "Stuck groups" })
        assert.include(await stuck.locator("tbody").innerText(), "math_0")
      })

      yield* before.kill
      yield* Effect.promise(async () => {
        for (const { page, sign } of Object.values(pages)) {
          await outage(page).getByText("Lost connection to the service").waitFor()
          assert.isAbove(await page.locator(sign).count(), 0)
          assert.strictEqual(await page.getByText("interrupted, trying again").count(), 0)
        }
        assert.strictEqual(await groups.page.locator(".row-link").count(), 3)
        assert.isTrue(await service.page.getByRole("table", { name: "Environments" }).isVisible())
        // A page that is opened now has nothing to keep, and loads when it can.
        await groups.page.evaluate("location.hash = '/groups/lasting/2'")
        await groups.page.getByRole("heading", { name: "Service unreachable" }).waitFor()
        assert.deepStrictEqual(await Browser.violations(service.page), [])
      })

      yield* serving(cwd, port)
      yield* Effect.promise(async () => {
        for (const { page } of Object.values(pages)) await outage(page).waitFor({ state: "detached" })
        await groups.page.locator(".rollout").first().waitFor()
        await send(url, "/lasting/metrics", { source: "trainer", step: 2, values: { "reward/mean": 1 } })
        const step = curves.page.locator(".tile-value").first()
        await Browser.becomes(() => step.innerText(), "2")
        await service.page.locator(".liveness.live").waitFor()
        for (const { page } of Object.values(pages)) await page.context().close()
      })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("has an address that means the same run later", () =>
    Effect.gen(function* () {
      const cwd = yield* Atropos.folder
      const { url } = yield* serving(cwd)
      yield* Effect.promise(async () => {
        await fill(url, "first")
        const { page } = await open(`${url}/ui`)
        const address = () => page.evaluate<string>("location.hash")
        await Browser.becomes(address, "#/?run=first")
        await fill(url, "second")
        await page.reload()
        await page.getByRole("heading", { name: "Run first" }).waitFor({ state: "attached" })
        await page.goto(`${url}/ui#/groups?text=litres`)
        await Browser.becomes(address, "#/groups?text=litres&run=second")
        await page.context().close()
      })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("ends with a run that has taken its steps in that word", () =>
    Effect.gen(function* () {
      const cwd = yield* Atropos.folder
      const api = yield* serving(cwd)
      yield* Effect.promise(() => fill(api.url, "whole", 1))
      const { page } = yield* Effect.promise(() => open(`${api.url}/ui#/?run=whole`))
      const service = yield* Effect.promise(() => page.context().newPage())
      yield* Effect.promise(async () => {
        await service.goto(`${api.url}/ui#/service?run=whole`)
        await service.getByRole("table", { name: "Environments" }).waitFor()
        await page.locator(".tile-value").first().waitFor()
      })
      yield* api.kill
      yield* Effect.promise(async () => {
        for (const tab of [page, service]) {
          await outage(tab).getByText("is done and its service has stopped").waitFor()
          assert.strictEqual(await tab.getByText("interrupted").count(), 0)
        }
        assert.match(await page.locator(".tiles").innerText(), /1\s+of 1 · done/)
        await page.context().close()
      })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
