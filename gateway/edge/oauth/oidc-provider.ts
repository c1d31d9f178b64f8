/**
 * oidc-provider, loaded without what it prints: on Node 20 it warns on the console that it wants a
 * newer one, which the person at the terminal can do nothing about. Its tests here run on both.
 */
/* eslint-disable no-console -- the one place that keeps another program off the console */
const { warn } = console;
console.warn = () => undefined;
const { default: Provider, errors } = await import('oidc-provider').finally(() => {
  console.warn = warn;
});

export { errors, Provider };
