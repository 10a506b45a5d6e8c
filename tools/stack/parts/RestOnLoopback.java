import java.io.FileReader;
import java.io.Reader;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.iceberg.ClientPool;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.jdbc.JdbcCatalog;
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

    ImpatientCatalog catalog = new ImpatientCatalog();
    catalog.initialize(ImpatientCatalog.NAME, settings);
    ServletContextHandler handler = new ServletContextHandler();
    RESTCatalogServlet servlet = new RESTCatalogServlet(new RESTCatalogAdapter(catalog));
    handler.addServlet(new ServletHolder(servlet), "/*");

    Server server = new Server(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port));
    server.setHandler(handler);
    server.start();
    server.join();
  }

  /**
   * Says at once, with the same error, what Iceberg's catalog says after a minute and a half: it
   * tries twenty times to read metadata that is broken or whose storage is down.
   */
  private static class ImpatientCatalog extends JdbcCatalog {
    /** Part of each table's key in the catalog's database. */
    static final String NAME = "lakehouse";

    private static final String LOCATION =
        "SELECT metadata_location FROM iceberg_tables"
            + " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?";

    @Override
    public Table loadTable(TableIdentifier table) {
      String location = metadataLocation(table);
      if (location != null) {
        TableMetadataParser.read(newTableOps(table).io(), location);
      }
      return super.loadTable(table);
    }

    private String metadataLocation(TableIdentifier table) {
      try {
        return connections().run(connection -> metadataLocation(connection, table));
      } catch (ReflectiveOperationException | SQLException error) {
        throw new IllegalStateException(error);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(error);
      }
    }

    private String metadataLocation(Connection connection, TableIdentifier table)
        throws SQLException {
      try (PreparedStatement query = connection.prepareStatement(LOCATION)) {
        query.setString(1, NAME);
        query.setString(2, table.namespace().toString());
        query.setString(3, table.name());
        try (ResultSet found = query.executeQuery()) {
          return found.next() ? found.getString(1) : null;
        }
      }
    }

    /** The catalog's own, because SQLite locks the whole file for a second one. */
    @SuppressWarnings("unchecked")
    private ClientPool<Connection, SQLException> connections()
        throws ReflectiveOperationException {
      Field field = JdbcCatalog.class.getDeclaredField("connections");
      field.setAccessible(true);
      return (ClientPool<Connection, SQLException>) field.get(this);
    }
  }
}
