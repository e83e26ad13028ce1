/* A component that is drawn again only when one of the named properties is another object. */
import { Component, h } from "preact";

export function memo(names, Inner) {
  return class extends Component {
    shouldComponentUpdate(next) {
      return names.some((name) => next[name] !== this.props[name]);
    }
    render(props) {
      return h(Inner, props);
    }
  };
}
