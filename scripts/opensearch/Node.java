import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.codelibs.opensearch.runner.node.OpenSearchRunnerNode;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.transport.Netty4Plugin;
import org.opensearch.transport.TransportService;

/** java -cp 'lib/*' Node.java HOME [setting=value …]: one OpenSearch node, until it is killed. */
public class Node {
  public static void main(String[] args) throws Exception {
    Settings.Builder settings = Settings.builder().put("path.home", args[0]);
    for (int i = 1; i < args.length; i++) {
      String[] pair = args[i].split("=", 2);
      settings.put(pair[0], pair[1]);
    }
    Environment environment =
        InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), Path.of(args[0], "config"), () -> "node");
    OpenSearchRunnerNode node =
        new OpenSearchRunnerNode(
            environment, List.of(Netty4Plugin.class, CommonAnalysisPlugin.class));
    node.start();
    System.out.println(
        "{\"http\":\""
            + node.injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress()
            + "\",\"transport\":\""
            + node.injector().getInstance(TransportService.class).boundAddress().publishAddress()
            + "\"}");
    while (System.in.read() >= 0) {}
    node.close();
  }
}
