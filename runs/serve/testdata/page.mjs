// Drives the page at / in headless Chromium, for TestPage: node page.mjs CHROMIUM MODULES URL TEXT WORDS [SCREENSHOTS]
// MODULES is a folder with puppeteer-core and axe-core in node_modules. It ends with 1 and a line on what is wrong.
import { createRequire } from "node:module";
import { strict as assert } from "node:assert";
import path from "node:path";

const [chromium, modules, url, text, words, screenshots] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, "x.js"));
const puppeteer = require("puppeteer-core");
const axe = require("axe-core");

const browser = await puppeteer.launch({
  executablePath: chromium, headless: true, args: ["--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1"],
});
const wrong = [];
try {
  const page = await browser.newPage();
  await page.setBypassCSP(false);
  page.on("console", m => { if (m.type() === "error" || m.type() === "warn") wrong.push(m.text()); });
  page.on("pageerror", e => wrong.push(e.message));
  page.on("request", r => { if (!r.url().startsWith(url) && !r.url().startsWith("data:")) wrong.push("it asks " + r.url()); });

  const light = () => page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  const dark = () => page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  const shoot = async name => { if (screenshots) await page.screenshot({ path: path.join(screenshots, name), captureBeyondViewport: false }); };
  // axe-core goes in by the debugger, so that the page's own policy stays in force.
  const check = async what => {
    await page.evaluate(axe.source);
    const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    assert.ok(found.passes.length > 10, "axe-core looked at next to nothing");
    for (const v of found.violations) wrong.push(what + ": axe-core: " + v.id + ": " + v.help + ": " + v.nodes.map(n => n.html).join(" ").slice(0, 300));
  };
  const wide = async what => {
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, what + ": the page is " + over + " pixels too wide");
  };

  await page.setViewport({ width: 960, height: 720 });
  await light();
  const response = await page.goto(url, { waitUntil: "networkidle0" });
  assert.equal(response.status(), 200);
  assert.match(response.headers()["content-security-policy"], /default-src 'none'/);
  await check("empty");

  // What is typed is translated without a click.
  await page.type("#in", text);
  await page.waitForSelector("#out .w");
  await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("Translated"));
  const shown = await page.$eval("#out", e => e.textContent);
  const answer = await page.evaluate(async q => (await fetch("translate", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ q, source: "auto", target: document.querySelector("#out").lang }),
  })).json(), text);
  assert.equal(shown, answer.translatedText);
  assert.equal(await page.$$eval("#source .w", all => all.length), text.split(/\s+/).length);

  // A word shows its source words under the mouse, and with the keyboard alone.
  const word = await page.$("#out .w[tabindex]");
  await word.hover();
  assert.equal(await page.$$eval("#source .lit", all => all.length), 1);
  await page.mouse.move(0, 0);
  assert.equal(await page.$$eval("#source .lit", all => all.length), 0);
  await page.focus("#out");
  await page.keyboard.press("Tab");
  assert.equal(await page.$$eval("#source .lit", all => all.length), 1);
  assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /, from .+ percent sure/);
  await check("light");
  await shoot("page-translation.png");

  // Other translations have scores, and can be chosen.
  assert.ok(await page.$$eval("#list button", all => all.length) >= 1, "no other translations");
  assert.match(await page.$eval("#list .score", e => e.textContent), /score -?[0-9.]+/);
  const other = await page.$eval("#list button", e => e.textContent);
  await page.focus("#list button");
  await page.keyboard.press("Enter");
  assert.equal(await page.$eval("#out", e => e.textContent), other);

  // Terms and a beginning.
  await page.click("summary");
  await page.type("#terms", text.split(/\s+/)[0] + " = ünïque");
  await page.waitForFunction(() => document.querySelector("#out").textContent.includes("ünïque"));
  await dark();
  await check("dark");
  await shoot("page-dark.png");

  await page.setViewport({ width: 340, height: 700 });
  await wide("narrow");
  await check("narrow");

  // What goes wrong is said.
  await page.$eval("#in", e => { e.value = "x".repeat(30000); e.dispatchEvent(new Event("input")); });
  await page.waitForSelector("#status.bad");
  wrong.splice(0, wrong.length, ...wrong.filter(w => !/status of 413/.test(w)));

  // A language model: the loss of each word, and what may follow.
  await page.setViewport({ width: 960, height: 720 });
  await light();
  await page.select("#model", await page.$$eval("#model option", all => all.find(o => o.textContent.startsWith("Language")).value));
  await page.waitForSelector("#next tr");
  await page.type("#text", words);
  await page.waitForFunction(n => document.querySelectorAll("#losses .w").length === n, {}, words.split(/\s+/).length);
  assert.equal(await page.$$eval("#next tr", all => all.length), 20);
  assert.match(await page.$eval("#pstatus", e => e.textContent), /^Perplexity [0-9.]+ over/);
  assert.match(await page.$eval("#losses .w", e => e.getAttribute("aria-label")), /, loss [0-9.]+ nats/);
  await check("language model");
  await shoot("page-prediction.png");
  await dark();
  await check("language model, dark");
  await page.setViewport({ width: 340, height: 700 });
  await wide("language model, narrow");
} catch (e) {
  wrong.push(e.message);
} finally {
  await browser.close();
}
for (const w of wrong) console.log(w);
process.exit(wrong.length ? 1 : 0);
