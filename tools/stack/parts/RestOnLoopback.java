import java.io.FileReader;
import java.io.Reader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Serves a catalog on loopback alone. The server's own main class listens on every interface,
 * with no password, and writes the storage credentials into its log.
 */
public class RestOnLoopback {
  public static void main(String[] arguments) throws Exception {
    int port = Integer.parseInt(arguments[0]);
    Properties file = new Properties();
    try (Reader reader = new FileReader(arguments[1])) {
      file.load(reader);
    }
    Map<String, String> settings =
        file.stringPropertyNames().stream()
            .collect(Collectors.toMap(name -> name, file::getProperty));

    // Part of each table's key in the catalog's database.
    Catalog catalog =
        CatalogUtil.buildIcebergCatalog("lakehouse", settings, new Configuration());
    ServletContextHandler handler = new ServletContextHandler();
    RESTCatalogServlet servlet = new RESTCatalogServlet(new RESTCatalogAdapter(catalog));
    handler.addServlet(new ServletHolder(servlet), "/*");

    Server server = new Server(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port));
    server.setHandler(handler);
    server.start();
    server.join();
  }
}
