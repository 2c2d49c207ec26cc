// @ts-check
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as echarts from 'echarts';

/** Where plots are written; nothing is drawn without it, since figures of a busy machine would replace those in the documentation. */
const folder = process.env.BENCH_PLOTS;
const size = { width: 720, height: 340 };
const ink = '#1f2328';
const rule = '#d0d7de';
const palette = ['#0b6e99', '#d9730d', '#448361', '#9065b0', '#c14c8a', '#787774'];

/**
 * @typedef {object} Plot
 * @property {string} title what is measured, with its unit
 * @property {string[]} categories along the horizontal axis
 * @property {{ name: string, values: number[] }[]} series one value for each category
 * @property {'bars' | 'rows' | 'lines'} [kind] bars by default; rows are bars that lie, for names that are long
 * @property {boolean} [isLogarithmic] the vertical axis
 */

/**
 * Writes an SVG `<name>.svg` into the folder that BENCH_PLOTS names (docs/plots for those that the documentation shows).
 * @param {string} name
 * @param {Plot} plot
 */
export async function plot(name, plot) {
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${name}.svg`);
  await writeFile(file, `${toSvg(plot)}\n`);
  console.log(`  drawn: ${file}`);
}

/**
 * @param {Plot} plot
 * @returns {string}
 */
export function toSvg({ title, categories, series, kind = 'bars', isLogarithmic = false }) {
  const text = { color: ink, fontFamily: 'sans-serif' };
  const axis = {
    axisLabel: { ...text, fontSize: 12 },
    axisLine: { lineStyle: { color: rule } },
    axisTick: { show: false },
  };
  const names = { type: 'category', data: categories, ...axis };
  const values = { type: isLogarithmic ? 'log' : 'value', splitLine: { lineStyle: { color: '#eaeef2' } }, ...axis };
  const lies = kind === 'rows';
  const chart = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    ...size,
    height: lies ? 90 + 26 * categories.length * series.length : size.height,
  });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    color: palette,
    textStyle: text,
    title: { text: title, left: 16, top: 10, textStyle: { ...text, fontSize: 14, fontWeight: 600 } },
    legend: {
      show: series.length > 1,
      bottom: 8,
      textStyle: text,
      icon: 'roundRect',
      itemWidth: 14,
      itemHeight: 8,
      itemGap: 28,
    },
    grid: { left: 28, right: 24, top: 52, bottom: series.length > 1 ? 44 : 16, containLabel: true },
    xAxis: lies ? values : names,
    yAxis: lies ? { ...names, inverse: true } : values,
    series: series.map(({ name, values }) => ({
      name,
      data: values.map((value) => Number(value.toPrecision(3))),
      type: kind === 'lines' ? 'line' : 'bar',
      symbolSize: 7,
      barMaxWidth: 44,
      // Values that are close share a label.
      labelLayout: { hideOverlap: true },
      label: { show: true, position: lies ? 'right' : 'top', color: ink, fontSize: 11 },
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // A name for screen readers, in place of echarts' own ids.
  return svg.replace('<svg ', `<svg role="img" aria-label="${escapeXml(title)}" `);
}

/** @param {string} text */
function escapeXml(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
